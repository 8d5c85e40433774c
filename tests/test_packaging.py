"""The built wheel: one importable name, every sub-package in it, nothing else, and it runs."""

import subprocess
import sys
import tomllib
import zipfile
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path

import pytest
from bare_environment import BareEnvironment

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
HAR = ROOT / "tests/fixtures/hars/originset/daily-cold.har"
TOPS = ("analysis", "cli", "crawler", "data", "models", "queries")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as a user gets it: built from the source distribution, not from the work tree."""
    folder = tmp_path_factory.mktemp("dist")
    call = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(call, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return path


def sources() -> set[str]:
    """What of the work tree belongs into the wheel, by the names it has there."""
    listed = ["git", "ls-files", "_originset", *TOPS]
    tracked = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True)
    return {f"originset/{name.removeprefix('_originset/')}" for name in tracked.stdout.splitlines()}


def test_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    compiled = {name for name in names if name.endswith(tuple(EXTENSION_SUFFIXES))}
    modules = {module["name"].replace(".", "/") for module in PYPROJECT["ext-modules"]}
    assert {name.split(".")[0] for name in compiled} == modules
    assert names - compiled == sources()


def test_wheel_is_small_enough_to_be_a_dependency(wheel: Path) -> None:
    assert wheel.stat().st_size < 10_000_000


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> BareEnvironment:
    return BareEnvironment(tmp_path_factory.mktemp("installed") / "environment", wheel)


def test_a_har_is_explained_without_compiler_browser_and_extras(environment: BareEnvironment) -> None:
    for program in ("cc", "gcc", "chromium", "firefox-esr"):
        with pytest.raises(FileNotFoundError):
            environment.run(program)
    explained = environment.run("originset", "explain", str(HAR))
    assert explained.returncode == 0, explained.stderr
    assert "9  TLS connections, measured" in explained.stdout


def test_a_study_made_elsewhere_is_queried_and_planned_there(environment: BareEnvironment, modelled_example) -> None:
    study = ("--study", str(modelled_example.root))
    for line in (
        ("query", "ladder_summary", *study),
        ("plan", "site", "example.com", *study, "--out", "plan.json"),
        ("plan", "config", "--server", "list", "--plan", "plan.json"),
    ):
        done = environment.run("originset", *line)
        assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["https://www.example.com"]


def test_a_missing_extra_is_one_line_that_names_it(environment: BareEnvironment) -> None:
    assert "\n  crawl  " in environment.run("originset", "--help").stdout
    for command, package, extra in (
        ("crawl sites.txt --jobs 4", "protego", "crawl"),
        ("study figures --help", "matplotlib", "figures"),
        ("serve S", "starlette", "serve"),
    ):
        done = environment.run("originset", *command.split())
        says = f"originset: error: the package {package} is missing; run: pip install 'originset[{extra}]'\n"
        assert (done.returncode, done.stderr) == (2, says)


def test_every_folder_with_code_is_a_package() -> None:
    folders = {path.parent.relative_to(ROOT) for top in TOPS for path in (ROOT / top).rglob("*.py")}
    folders.remove(Path("crawler/testbed/rules/clients/programs"))  # for other environments than ours
    assert set(PYPROJECT["packages"]) == {"originset"} | {".".join(("originset", *folder.parts)) for folder in folders}


def test_generic_names_do_not_leak(tmp_path: Path) -> None:
    program = f"import importlib.util as u; print([n for n in {TOPS!r} if u.find_spec(n)])"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert find_spec("originset.crawler") is not None
