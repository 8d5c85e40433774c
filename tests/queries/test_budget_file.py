"""budget.toml: what is refused, and why."""

from pathlib import Path

import pytest

from originset.data.errors import InputError
from originset.queries.budget_file import read_budget


def budget(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "budget.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("connections = 1", "neither"),
        ("[budget", "TOML"),
        ("", "no table"),
        ("[budget]\nrequests = 1", "has requests"),
        ("[budget]\nconnections = -1", "not a number"),
        ("[budget]\nconnections = true", "not a number"),
        ("[budget]\nconnections = inf", "not a number"),
        ("[budget]\nconnections = 1" + "0" * 30, "not a number"),
        ("[budget]\nconnections = 1" + "0" * 5000, "TOML"),
        ("budget = " + "[" * 5000 + "]" * 5000, "TOML"),
        ("[[page]]\nconnections = 1", "either a site or a url"),
        ('[[page]]\nsite = "a"\nurl = "b"\nconnections = 1', "either a site or a url"),
        ('page = ["a"]', "page is not a table"),
    ],
)
def test_what_is_no_budget(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_budget(budget(tmp_path, text))
