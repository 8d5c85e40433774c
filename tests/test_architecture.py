"""docs/architecture.md is true: its arrows are the imports that there are, and what it names exists."""

import ast
import re
from itertools import product
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
FOLDERS = ("analysis", "cli", "crawler", "data", "models", "queries")


def drawn() -> tuple[set[str], set[tuple[str, str]]]:
    """The diagram's boxes and solid arrows; ``a --> b & c`` is two."""
    diagram = TEXT.partition("```mermaid\n")[2].partition("```")[0]
    boxes = set(re.findall(r"^  ([a-z.]+)$", diagram, re.MULTILINE))
    lines = re.findall(r"^  (\S+) --> (.+)$", diagram, re.MULTILINE)
    return boxes, {pair for source, targets in lines for pair in product([source], targets.split(" & "))}


def modules() -> dict[str, Path]:
    """Every module of ours by its dotted name without ``originset``."""
    paths = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


def imported(path: Path) -> set[str]:
    """Dotted names that a module imports of ours: what follows ``import`` may be a module or something in one."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "originset":
            names |= {f"{node.module}.{alias.name}".removeprefix("originset.") for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name.removeprefix("originset.") for alias in node.names if "originset." in alias.name}
    return names


def real() -> tuple[set[str], set[tuple[str, str]]]:
    """The packages, and which imports which: by their own names within a folder, by the folder's outside it."""
    known = modules()
    packages = {name for name, path in known.items() if path.name == "__init__.py"}

    def package(name: str) -> str:
        while name not in packages:
            name = name.rpartition(".")[0]
        return name

    arrows = set()
    for name, path in known.items():
        source = package(name)
        for target in map(package, filter(None, imported(path) - {"__version__"})):
            same_folder = target.split(".")[0] == source.split(".")[0]
            arrows.add((source, target if same_folder else target.split(".")[0]))
    return packages, {(source, target) for source, target in arrows if source != target}


def test_the_diagram_shows_every_package_and_every_import_and_no_other() -> None:
    boxes, arrows = drawn()
    packages, imports = real()
    assert boxes == packages
    assert arrows == imports


def test_what_it_names_exists() -> None:
    named = re.findall(r"`((?:analysis|cli|crawler|data|models|queries)/[^`]*)`", TEXT)
    assert len(named) > 30
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_it_stays_within_two_pages() -> None:
    assert len(TEXT.splitlines()) <= 120
