"""SECURITY.md: what is promised is tested, and what is marked as tested is promised."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

_spec = importlib.util.spec_from_file_location("security_page", ROOT / ".ci" / "security_page.py")
assert _spec is not None
assert _spec.loader is not None
security_page = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(security_page)

TEXT = """# Security

- This is no promise.

## What is promised
Tests show it.

### Files
- A file is read
  once. {once}
- It is closed. {closed}

## Else
- Nor is this.
"""
MARKED = """
import pytest

@pytest.mark.promise("once")
@pytest.mark.parametrize("a", [1])
def test_reading(a): ...

class TestClosing:
    @pytest.mark.promise("closed")
    @pytest.mark.promise("once")
    async def test_closing(self): ...
"""


def made(root: Path, text: str = TEXT, marked: str = MARKED) -> str:
    (root / "docs").mkdir(exist_ok=True)
    (root / "tests" / "deep").mkdir(parents=True, exist_ok=True)
    (root / "docs" / "security-promises.md").write_text(text)
    (root / "tests" / "deep" / "test_it.py").write_text(marked)
    return security_page.page(root)


def test_tests_stand_below_what_they_show(tmp_path: Path) -> None:
    place = "tests/deep/test_it.py"
    reading, closing = (f"  - [`{place}::{name}`]({place})\n" for name in ("test_reading", "test_closing"))
    expected = TEXT.replace("once. {once}\n", f"once.\n{reading}{closing}")
    expected = expected.replace("closed. {closed}\n", f"closed.\n{closing}")
    assert made(tmp_path).partition("-->\n")[2] == expected


@pytest.mark.parametrize(
    ("text", "marked", "says"),
    [
        (TEXT.replace(" {closed}", ""), MARKED, "a promise without an id: - It is closed."),
        (TEXT.replace("{closed}", "{opened}"), MARKED, r"no test has @pytest.mark.promise\('opened'\)"),
        (TEXT.replace("{closed}", "{once}"), MARKED, "once is promised twice"),
        (TEXT, MARKED.replace('"once"', '"twice"'), "test_reading is marked for 'twice', which"),
        (TEXT, MARKED.replace('"once"', "ONCE"), r"promise\(ONCE\) is not one id"),
        (TEXT, f'{MARKED}\npytestmark = pytest.mark.promise("once")\n', "mark each test function by itself"),
        (TEXT, MARKED.replace("def test_reading", "def reading"), "mark each test function by itself"),
        (TEXT.replace("## What is promised", "## Promises"), MARKED, "promises nothing"),
    ],
)
def test_what_does_not_fit_together_is_said(tmp_path: Path, text: str, marked: str, says: str) -> None:
    with pytest.raises(security_page.Wrong, match=says):
        made(tmp_path, text, marked)


def test_this_repositorys_page_is_as_made() -> None:
    assert (ROOT / "SECURITY.md").read_text() == security_page.page(ROOT)
