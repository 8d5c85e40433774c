"""docs/architecture.md is true: its arrows are the imports that there are, and what it names exists."""

import ast
import re
from itertools import product
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
FOLDERS = ("analysis", "cli", "crawler", "data", "models", "queries")


def drawn() -> tuple[set[str], set[tuple[str, str]]]:
    """The diagrams' boxes and solid arrows; ``a --> b & c`` is two."""
    diagrams = "\n".join(re.findall(r"```mermaid\n(.*?)```", TEXT, re.DOTALL))
    lines = re.findall(r"^  (\S+) --> (.+)$", diagrams, re.MULTILINE)
    arrows = {pair for source, targets in lines for pair in product([source], targets.split(" & "))}
    alone = re.findall(r"^  ([a-z_.]+)$", diagrams, re.MULTILINE)
    return {box for pair in arrows for box in pair} | set(alone), arrows


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
    """The packages, and which imports which: by their own names within a top folder, by these folders' between them."""
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
            pair = source.split(".")[0], target.split(".")[0]
            arrows.add((source, target) if pair[0] == pair[1] else pair)
    return packages, {(source, target) for source, target in arrows if source != target}


def test_the_diagrams_show_every_package_and_every_import_and_no_other() -> None:
    boxes, arrows = drawn()
    packages, imports = real()
    assert boxes == packages
    assert arrows == imports


def test_what_it_names_exists() -> None:
    named = re.findall(r"`((?:analysis|cli|crawler|data|models|queries)/[^`]*)`", TEXT)
    assert len(named) > 30
    assert [name for name in named if not (ROOT / name).exists()] == []


# What a file that answers a question of "Where is it?" has in it, and no other module or query.
ANSWERS = {
    "crawler/crawl/politeness.py": 'robots.txt")',
    "crawler/failures.py": "def may_pass(",
    "crawler/crawl/frontier.py": "def shuffled(",
    "data/host_names.py": "def covers(",
    "data/netlog/sockets.py": '"network_anonymization_key"',
    "analysis/captures/lookup_rows.py": "def dns_query_rows(",
    "crawler/probe/origin_frame.py": "def decode(",
    "models/pages/page_basis.sql": "reason IS NULL AS counted",
    "models/evidence/colocation_evidence_by_number.sql": "END AS level,",
    "models/browsers/causes/connection_causes.py": "NOT_DECIDABLE, UNKNOWN =",
    "data/sanitising/url_redaction.py": "def redact_url(",
    "cli/writers/capabilities.py": "CAPABILITIES",
}


def test_each_question_has_its_answer() -> None:
    section = TEXT.partition("## Where is it?\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+\?) \| `([^`]+)`", section, re.MULTILINE)
    assert [file for _, file in rows] == list(ANSWERS)
    for file, definition in ANSWERS.items():
        assert definition in (ROOT / file).read_text(encoding="utf-8"), file
