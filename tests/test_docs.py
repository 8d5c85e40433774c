"""Pages that are written by hand: the columns, queries and commands that they name exist, their Python runs."""

import re
from pathlib import Path

import click
import pytest

from originset.cli.main import COMMANDS, main
from originset.data.schema.study_tables import TABLES
from originset.queries.catalogue import catalogue

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[1] / "docs"
PAGES = [page for folder in (DOCS.parent, DOCS) for page in sorted(folder.glob("*.md"))]
METHODOLOGY = (DOCS / "methodology.md").read_text()


def test_the_columns_named_exist() -> None:
    named = re.findall(r"`([a-z_]+)\.([a-z_0-9]+)`", METHODOLOGY)
    named = {(table, column) for table, column in named if table != "table" and column not in {"duckdb", "json"}}
    assert len(named) >= 10
    for table, column in named:
        assert table in TABLES, table
        assert column in TABLES[table].polars_schema, f"{table}.{column}"


def test_the_queries_named_exist() -> None:
    named = set(re.findall(r"`([a-z_]+_(?:dist|pct|summary))`", METHODOLOGY))
    assert len(named) >= 6
    assert named <= set(catalogue())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_options_and_queries_named_exist(page: Path) -> None:
    """Every line of a block and every text in backticks that begins with the program's name."""
    text = page.read_text()
    lines = [line.partition(" #")[0] for line in re.findall(r"^\s*(originset .+)$", text, re.MULTILINE)]
    lines += [" ".join(call.split()) for call in re.findall(r"`(originset [^`]+)`", text)]
    calls = [call.strip().removeprefix("originset ") for line in lines for call in line.split("&&")]
    if page.name in {"README.md", "methodology.md"}:
        assert len(calls) >= 6
    for call in calls:
        name, *rest = re.sub(r"^--study \S+ ", "", call).split()
        assert name in COMMANDS, call
        command = main.get_command(click.Context(main), name)
        if isinstance(command, click.Group):
            command = command.commands[rest[0]]
        options = {text for parameter in command.params for text in parameter.opts} | {"--help"}
        assert {word for word in rest if word.startswith("--")} <= options, call
        if name == "query" and rest and rest[0].islower() and not rest[0].startswith("-"):
            assert rest[0] in catalogue(), call


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_is_linked_to_is_there(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
        assert link.startswith("https://") or (page.parent / link).exists(), link


def test_the_notebook_runs(modelled_example, tmp_path, monkeypatch) -> None:
    (tmp_path / "study").symlink_to(modelled_example.root)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "notebook.md").read_text(), re.DOTALL)
    assert len(blocks) >= 6
    for block in blocks:
        exec(compile(block, "notebook.md", "exec"), names)  # noqa: S102 - the page's own code
    assert names["measured"].total == 4
    assert names["drawn"].numbers.height > 20
    names["study"].close()
