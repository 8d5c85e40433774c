"""The Python API: its examples run, the notebook uses nothing else, and its page is the code's."""

import ast
import doctest
import inspect
import re
from pathlib import Path

import polars as pl
import pytest

import originset
from originset import python_api
from originset.data.errors import InputError, StudyError, UsageError

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs/notebook.md").read_text(), re.DOTALL)


@pytest.fixture
def folder(modelled_example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the examples stand in: a study, and a recording."""
    (tmp_path / "study").symlink_to(modelled_example.root)
    (tmp_path / "page.har").symlink_to(ROOT / "tests/fixtures/hars/originset/daily-cold.har")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_examples_of_the_docstrings_run(folder: Path) -> None:
    examples = doctest.DocTestFinder(exclude_empty=True).find(python_api, extraglobs={"originset": originset})
    runner = doctest.DocTestRunner()
    results = [runner.run(example) for example in examples]
    assert sum(result.failed for result in results) == 0
    assert sum(result.attempted for result in results) >= 8


def test_the_notebook_runs(folder: Path) -> None:
    names: dict[str, object] = {}
    assert len(BLOCKS) >= 5
    for block in BLOCKS:
        exec(compile(block, "notebook.md", "exec"), names)  # noqa: S102 - the page's own code
    curve = names["curve"]
    assert isinstance(curve, pl.DataFrame)
    assert curve.height == 4


def test_the_notebook_uses_nothing_else() -> None:
    for node in (node for block in BLOCKS for node in ast.walk(ast.parse(block))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            assert ast.unparse(node) == "import originset"
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "originset":
            assert node.attr in originset.__all__


def test_every_public_name_is_described() -> None:
    """And typed, and the page has it: .ci/python_page.py writes what is in ``__all__``."""
    page = (ROOT / "docs/python.md").read_text()
    for name in originset.__all__:
        value = getattr(originset, name)
        assert value.__doc__
        assert f"## `originset.{name}" in page
        if inspect.isfunction(value):
            assert set(inspect.signature(value).parameters) | {"return"} == set(value.__annotations__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = originset.nothing


def test_tables_are_those_of_the_schema(folder: Path) -> None:
    with originset.open_study("study") as study:
        assert study.tables["visits"].height == study.sql("SELECT count(*) AS rows FROM visits")["rows"].item() > 0
        with pytest.raises(KeyError):
            study.tables["visits; DROP TABLE visits"]
        with pytest.raises(UsageError, match="more than read"):
            study.sql("COPY visits TO 'visits.csv'")
        with pytest.raises(UsageError, match="has no parameter 'most'"):
            study.query("hosts_top_summary", most=3)


def test_what_cannot_be_read_is_told(folder: Path) -> None:
    with pytest.raises(StudyError):
        originset.open_study("nowhere")
    (folder / "wrong.har").write_text("<html>")
    with pytest.raises(InputError, match=r"wrong\.har"):
        originset.explain("wrong.har")
    with pytest.raises(UsageError, match=r"has no site nowhere\.test"):
        originset.plan("study", "nowhere.test")
    with pytest.raises(UsageError, match="bytes that are not UTF-8"):
        originset.plan("study", "\udcff.test")
