"""The edge of the program: one line an error, the promised exit codes, help with an example for every command."""

import subprocess
import sys
from pathlib import Path

import click
import pytest

from originset.cli.main import COMMANDS, main


def originset(*arguments: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "-m", "originset", *map(str, arguments)]
    return subprocess.run(call, capture_output=True, text=True, check=False, **options)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert "Example:" in (command.help or "")
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{name} {parameter.name} has no help"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_file_of_its_own(name: str) -> None:
    stem = COMMANDS[name].rsplit(".", 1)[1]
    assert stem.rstrip("_") == name
    assert (Path(__file__).parents[2] / "cli" / f"{stem}.py").exists()


def test_an_error_is_one_line_that_says_what_to_do(tmp_path: Path) -> None:
    done = originset("--study", tmp_path / "none", "analyze")
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert "crawl or import into it first" in done.stderr
    assert not (tmp_path / "none").exists()


def test_debug_shows_where() -> None:
    done = originset("--debug", "--study", "/nonexistent", "analyze")
    assert "Traceback" in done.stderr
    assert done.returncode == 2


def test_wrong_usage_is_exit_code_2() -> None:
    done = originset("analyse")
    assert done.returncode == 2
    assert "No such command 'analyse'" in done.stderr


@pytest.mark.promise("terminals-obey-nobody")
def test_a_strangers_text_in_an_error_stays_on_its_line(tmp_path: Path) -> None:
    done = originset("--study", tmp_path / "a\x1b[31m\nb", "analyze")
    assert done.returncode == 2
    assert "\x1b" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_study_comes_from_the_environment(tmp_path: Path) -> None:
    done = originset("analyze", env={"ORIGINSET_STUDY": str(tmp_path / "E"), "PATH": "/usr/bin:/bin"})
    assert str(tmp_path / "E") in done.stderr


def test_output_that_nobody_can_take_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        call = [sys.executable, "-m", "originset", "query", "--format", "json"]
        done = subprocess.run(call, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert (
        done.stderr
        == "originset: error: No space left on device: standard output; make room, then run the same again\n"
    )
