"""docs/glossary.md has the words that README.md introduces, and no word that nothing else uses."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
ROW = re.compile(r"^\| (?!term \|)([^|]+?) \| [^|]+ \| [^|]+ \|$", re.MULTILINE)
TERMS = ROW.findall((DOCS / "glossary.md").read_text())


def test_each_term_stands_once() -> None:
    assert len(TERMS) > 60
    assert len({term.lower() for term in TERMS}) == len(TERMS)


@pytest.mark.parametrize("term", TERMS)
def test_a_term_is_used(term: str) -> None:
    """In README.md or a page of docs/, of which one is made from the commands' help and one from the schema."""
    pages = [ROOT / "README.md", *(page for page in DOCS.glob("*.md") if page.name != "glossary.md")]
    used = re.compile(rf"\b{re.escape(term)}", re.IGNORECASE)
    assert any(used.search(" ".join(page.read_text().split())) for page in pages)


def test_what_the_readme_introduces_has_an_entry() -> None:
    bold = re.findall(r"\*\*([^*]+)\*\*", (ROOT / "README.md").read_text())
    assert len(bold) >= 5
    assert {" ".join(term.lower().split()) for term in bold} <= {term.lower() for term in TERMS}
