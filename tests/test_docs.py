"""Pages that are written by hand: the columns, queries and commands that they name exist, their Python runs."""

import ast
import re
from pathlib import Path

import click
import pytest
from command_lines import command_of, unknown_in

from originset.cli.common.old_spellings import SPELLINGS
from originset.cli.main import COMMANDS
from originset.data.schema.study_tables import TABLES
from originset.queries.catalogue import catalogue

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[1] / "docs"
PAGES = [page for folder in (DOCS.parent, DOCS) for page in sorted(folder.glob("*.md"))]
METHODOLOGY = (DOCS / "methodology.md").read_text()


OLD_COMMANDS = {old for old in SPELLINGS if " " not in old}


def texts_of(path: Path) -> list[str]:
    """A module's strings, each whole and with {} for what is put into it; any other file's text."""
    if path.suffix != ".py":
        return [path.read_text()]
    tree = ast.parse(path.read_text())
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    texts = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            texts.append(node.value)
        elif isinstance(node, ast.JoinedStr):
            texts.append("".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values))
    return texts


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
    calls = [call.strip() for line in lines for call in line.split("&&")]
    if page in (DOCS.parent / "README.md", DOCS / "methodology.md"):
        assert len(calls) >= 6
    assert [call for call in calls if unknown_in(call) is not None] == []
    for call in calls:
        command, rest = command_of(call)
        if command.name == "query" and rest and rest[0].islower() and not rest[0].startswith("-"):
            assert rest[0] in catalogue(), call


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_that_are_named_without_the_program_exist(page: Path) -> None:
    """Texts in backticks such as `plan site` and `explain --live`, by their first word."""
    for text in re.findall(r"`([a-z]+(?: [^`]+)?)`", page.read_text()):
        first, *rest = text.split()
        if (
            rest
            and first in COMMANDS
            and (rest[0].startswith("--") or isinstance(command_of(f"originset {first}")[0], click.Group))
        ):
            assert unknown_in(f"originset {text}") is None, text
        elif first in OLD_COMMANDS:
            assert not rest, f"{text}: it is in a group now"


def test_the_commands_that_messages_advise_exist() -> None:
    """Whatever stands behind the program's name in a text of the program that is no docstring of a module."""
    calls = {
        (path, " ".join(call.split()))
        for folder in ("analysis", "cli", "crawler", "data", "models", "queries")
        for path in (DOCS.parent / folder).rglob("*")
        if path.suffix in {".py", ".sql", ".j2"}
        for text in texts_of(path)
        for call in re.findall(r"\boriginset ((?:--|[a-z])[^`;\n&|)]*)", text)
        if call.split()[0].rstrip(".,:") in {*COMMANDS, *OLD_COMMANDS} or call.startswith("--study ")
    }
    assert len(calls) > 30
    assert [(path.name, call) for path, call in sorted(calls) if unknown_in(f"originset {call}") is not None] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_is_linked_to_is_there(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
        assert link.startswith("https://") or (page.parent / link).exists(), link
