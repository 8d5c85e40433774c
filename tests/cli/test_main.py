"""The edge of the program: one line an error, the promised exit codes, help with an example for every command."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from command_lines import unknown_in

from originset.cli.common.old_spellings import SPELLINGS
from originset.cli.main import COMMANDS
from originset.cli.main import run as run_program
from originset.cli.pages.commands_page import commands, split_help
from originset.data.studies.study import Study


def originset(*arguments: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "-m", "originset", *map(str, arguments)]
    return subprocess.run(call, capture_output=True, text=True, check=False, **options)


@pytest.mark.parametrize(("words", "command"), [pytest.param(*one, id=one[0]) for one in commands()])
def test_every_command_has_help_with_an_example(words: str, command: click.Command) -> None:
    assert split_help(command)[1].startswith("originset ")
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help or parameter.hidden, f"{words} {parameter.name} has no help"


@pytest.mark.parametrize(("words", "command"), [pytest.param(*one, id=one[0]) for one in commands()])
def test_every_command_is_where_its_name_says(words: str, command: click.Command) -> None:
    """``originset plan site`` is cli/plan/site.py, ``originset plan`` cli/plan/__init__.py.

    Where another folder has a module of that name, it is cli/lab/run_command.py: no two modules have one name.
    """
    assert command.callback is not None
    names = words.replace("import", "import_").split()[1:]
    path = Path(__file__).parents[2].joinpath("cli", *names)
    files = [path.with_suffix(".py"), path.with_name(f"{path.name}_command.py")]
    expected = [path / "__init__.py"] if isinstance(command, click.Group) else files
    assert any(file.is_file() for file in expected) or words == "originset"


def test_the_first_screen_is_short_and_whole() -> None:
    """At most 12 entries, and on a terminal of 80 columns no list of commands has a sentence that is cut."""
    assert len(COMMANDS) <= 12
    for words, command in commands():
        if isinstance(command, click.Group):
            context = click.Context(command, info_name=words, terminal_width=80)
            listed = command.get_help(context).partition("Commands:\n")[2].splitlines()
            assert len(listed) == len(command.list_commands(context)), words
            assert not [line for line in listed if line.endswith("...")], words


def test_an_option_means_the_same_wherever_it_is() -> None:
    """One name, one kind of value: what is a number of one command is no folder of another."""
    kinds: dict[str, dict[str, list[str]]] = {}
    for words, command in commands():
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                kind = "flag" if parameter.is_flag else type(parameter.type).__name__
                kinds.setdefault(parameter.opts[0], {}).setdefault(kind, []).append(words)
    several = {name: found for name, found in kinds.items() if len(found) > 1}
    # A choice of browsers of a crawl, and any browser that a study has; a list of one number is of another range.
    assert set(several) <= {"--browser", "--tls-ca-file", "--tls-cert", "--tls-key"}, several


@pytest.mark.parametrize("old", SPELLINGS)
def test_an_old_spelling_is_told_the_new_one(run: Callable[..., Any], old: str) -> None:
    done = run(*old.split(), "x")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"originset: error: originset {old} is now: originset {SPELLINGS[old]}\n"


@pytest.mark.parametrize("new", sorted(set(SPELLINGS.values())))
def test_a_new_spelling_is_one(new: str) -> None:
    assert unknown_in(f"originset {new}") is None


def test_an_old_spelling_is_found_behind_others(run: Callable[..., Any]) -> None:
    assert "is now: originset plan site HOST" in run("plan", "--out", "plan.json", "--site=a.test").stderr
    assert "is now: originset check budget " in run("check", "page.har", "--budget", "b.toml").stderr
    assert "is now" not in run("query", "--bogus", "merge").stderr


def test_a_mistyped_command_gets_a_suggestion(run: Callable[..., Any]) -> None:
    for words, suggestion in (
        (["analyse"], "No such command 'analyse'. Did you mean analyze?"),
        (["plan", "sites"], "No such command 'sites'. Did you mean site?"),
        (["study", "reference", "sow"], "Did you mean show?"),
        (["crawl", "--resolv", "x"], "--resolver"),
        (["xyzzy"], "No such command 'xyzzy'.\n"),
    ):
        done = run(*words)
        assert (done.returncode, done.stdout) == (2, "")
        assert suggestion in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["--study", "HERE", "query", "visits_status_summary"],
        ["query", "--study", "HERE", "visits_status_summary"],
        ["query", "visits_status_summary", "--study", "HERE"],
        ["--study", "nowhere", "query", "visits_status_summary", "--study", "HERE"],
        ["plan", "--study", "HERE", "site", "www.site.test"],
        ["plan", "site", "www.site.test", "--study", "HERE"],
    ],
)
def test_the_study_stands_before_or_after_the_commands_name(
    study: Study, words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["originset", *(str(study.root) if word == "HERE" else word for word in words)])
    with pytest.raises(SystemExit) as ended:
        run_program()
    assert not ended.value.code, capsys.readouterr().err


def test_debug_is_taken_after_the_command(run: Callable[..., Any]) -> None:
    done = run("--study", "/nonexistent", "analyze", "--debug")
    assert done.returncode == 2
    assert "Traceback" in done.stderr


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


@pytest.mark.promise("study-paths-are-utf-8")
@pytest.mark.parametrize(
    "words",
    [["analyze"], ["query", "ladder_summary"], ["query", "--sql", "SELECT 1"], ["study", "status"],
     ["study", "report", "--out", "r.html"],
     ["study", "model"], ["study", "enrich", "--dry-run"], ["plan", "site", "a.test", "--out", "p.json"],
     ["check", "pairs", "--dry-run"]],
    ids=" ".join,
)  # fmt: skip
@pytest.mark.parametrize("place", [b"\xff\xe9", b"a\xfe/study"])
def test_a_study_at_a_path_that_is_no_utf_8_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], place: bytes, words: list[str]
) -> None:
    study = tmp_path / os.fsdecode(place)
    study.mkdir(parents=True)
    (study / "study.json").write_text('{"format": 2, "runs": []}')
    (study / "study.duckdb").touch()
    monkeypatch.chdir(study.parent)
    monkeypatch.setattr(sys, "argv", ["originset", "--study", study.name, *words])
    with pytest.raises(SystemExit) as ended:
        run_program()
    assert ended.value.code == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("originset: error:")]
    assert "is not UTF-8; rename the folder" in line
    assert [path.name for path in study.iterdir() if path.name not in ("study.json", "study.duckdb")] == []
