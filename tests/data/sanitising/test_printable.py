"""What strangers wrote, on a terminal: shown, and never obeyed."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from originset.data.sanitising.printable import printable, printable_json


@pytest.mark.promise("terminals-obey-nobody")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[2Jb", r"a\x1b[2Jb"),
        ("one\ntwo\tthree\r", r"one\ntwo\tthree\r"),
        ("\x9b31m", r"\x9b31m"),
        ("gpj.\u202eexe", r"gpj.\u202eexe"),
        ("a\u2028b", r"a\u2028b"),
        ("\U000e0041", r"\U000e0041"),
        ("a\u00a0b é 漢 עב 🙂", "a\u00a0b é 漢 עב 🙂"),
        ("[bold]no markup[/bold]", "[bold]no markup[/bold]"),
    ],
)
def test_controls_are_shown_as_escapes(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.promise("terminals-obey-nobody")
@given(st.text(st.characters(), max_size=60))
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    left = {unicodedata.category(character) for character in printable(text)}
    assert left.isdisjoint({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


@given(st.text(max_size=60))
def test_json_keeps_its_value(text: str) -> None:
    written = printable_json(json.dumps({"text": text}, ensure_ascii=False, indent=1))
    assert json.loads(written) == {"text": text}
    assert printable(written.replace("\n", "")) == written.replace("\n", "")
