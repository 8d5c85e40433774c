"""Strangers' texts, fit to be shown."""

from hypothesis import given
from hypothesis import strategies as st

from originset.queries.report.printable_text import printable_excerpt


@given(st.text(max_size=400), st.integers(5, 200))
def test_what_is_shown_is_short_and_harmless(text: str, most: int) -> None:
    seen = printable_excerpt(text, most)
    assert len(seen) <= max(most, 5)
    assert seen.isprintable()
    assert not set(seen) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    if len(text) <= most and text.isprintable():
        assert seen == text


def test_long_names_keep_both_ends() -> None:
    assert printable_excerpt("a" * 50 + "b" * 50, 9) == "aaaa\N{HORIZONTAL ELLIPSIS}bbbb"
