"""What pages show a command to print is what it prints. tests/fixtures/console_blocks.py writes these pages anew."""

from pathlib import Path

import pytest
from console_blocks import ROOT, with_outputs

pytestmark = pytest.mark.slow

PAGES = [page for folder in (ROOT, ROOT / "docs") for page in sorted(folder.glob("*.md"))]
WITH_EXAMPLES = [page for page in PAGES if "```console\n" in page.read_text()]


def test_these_pages_have_examples() -> None:
    assert {"README.md", "tutorial.md"} <= {page.name for page in WITH_EXAMPLES}


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: page.name)
def test_commands_print_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    assert with_outputs(page.read_text(), tmp_path) == page.read_text()
