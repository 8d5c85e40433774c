"""One command names all that a machine lacks."""

from pathlib import Path

import pytest

from originset.crawler import readiness
from originset.data.errors import MissingDependency


def test_one_command_names_all_that_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(readiness.shutil, "which", lambda name, path=None: None)
    with pytest.raises(MissingDependency) as raised:
        readiness.require("demo")
    assert raised.value.exit_code == 2
    line = str(raised.value)
    assert "chromium libnss3-tools iproute2" in line
    assert "firefox" not in line
    assert "\n" not in line
