"""What the repository may not hold, whoever wrote it."""

import ast
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def tracked() -> list[Path]:
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in names.split("\0") if name and (ROOT / name).is_file()]


def test_versions_are_pinned_without_addresses() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert lines
    for line in lines:
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!-]+", line), line


def test_modules_are_short() -> None:
    """No more than 300 lines, of tests 400, but for the schema's tables, which are lists."""
    lists = {"data/schema/study_tables.py", "data/schema/modelled_tables.py"}
    long = {
        name: count
        for path in tracked()
        if path.suffix == ".py" and (name := str(path.relative_to(ROOT))) not in lists
        if (count := len(path.read_text().splitlines())) > (400 if name.startswith("tests/") else 300)
    }
    assert long == {}


def test_folders_are_small_enough_to_be_read() -> None:
    """No more than 15 modules on one level."""
    folders = Counter(path.parent for path in tracked() if path.suffix == ".py" and path.name != "__init__.py")
    packages = ("analysis", "cli", "crawler", "data", "models", "queries")
    assert {
        str(folder.relative_to(ROOT)): count
        for folder, count in folders.items()
        if count > 15 and folder.relative_to(ROOT).parts[0] in packages
    } == {}


def test_no_two_modules_have_one_name() -> None:
    """But those whose folder says of what they are a page, or the tables; __init__ and __main__ are Python's names."""
    packages = ("analysis", "cli", "crawler", "data", "models", "queries")
    names = Counter(
        path.stem
        for path in tracked()
        if path.suffix in {".py", ".pyx"} and path.relative_to(ROOT).parts[0] in packages
    )
    assert {name for name, count in names.items() if count > 1} <= {"__init__", "__main__", "page", "tables"}


def test_every_module_says_what_it_is_for() -> None:
    for path in tracked():
        if path.suffix == ".py":
            assert path.read_text().startswith('"""'), path


def test_tests_mirror_the_packages() -> None:
    """tests/crawler/crawl/test_frontier.py tests crawler/crawl/frontier.py: a test without a module is misnamed."""
    packages = ("analysis", "cli", "crawler", "data", "models", "queries")
    for path in tracked():
        relative = path.relative_to(ROOT)
        if relative.parts[0] == "tests" and len(relative.parts) > 2 and relative.parts[1] in packages:
            if not relative.name.startswith("test_"):
                continue
            folder = ROOT.joinpath(*relative.parts[1:-1])
            stems = {p.stem.rstrip("_") for p in folder.glob("*.py*")} | {folder.name}  # what all have in common
            stems |= {p.name for p in folder.iterdir() if p.is_dir()}
            stems |= {p.stem for p in folder.rglob("*.sql")}
            name = relative.stem.removeprefix("test_")
            assert any(name == stem or name.startswith(f"{stem}_") for stem in stems), relative


@pytest.mark.promise("nothing-is-run")
def test_no_text_of_strangers_is_run_or_unpickled() -> None:
    """No shell, no pickle, no eval: what comes from outside stays a value."""
    folders = ("analysis", "cli", "crawler", "data", "models", "queries")
    for path in (path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                assert not names & {"pickle", "shelve", "marshal", "dill", "cloudpickle"}, path
            if isinstance(node, ast.Call):
                assert not any(word.arg == "shell" for word in node.keywords), path
                called = ast.unparse(node.func)
                # Events of YAML are texts; objects are built by msgspec alone.
                assert not called.startswith("yaml.") or called == "yaml.parse", path
                assert called not in {"eval", "exec", "os.system", "os.popen", "subprocess.getoutput"}, path
