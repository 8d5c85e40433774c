"""A ring's commands run one after the other; what they exit with decides what comes next."""

from __future__ import annotations

import shlex
import subprocess

import click

from originset.cli.common.output import note
from originset.cli.main import main
from originset.cli.plan.rollout.ring_commands import RingCommand, RolloutFiles
from originset.cli.plan.rollout.rollout_state import StateFile
from originset.data.errors import OriginsetError, UsageError
from originset.data.files.nofollow import open_folder, remove_tree

DONE, TAKEN_BACK, WAITS = 0, 1, 3


def carry_out(file: StateFile, files: RolloutFiles) -> int:
    """Run the rest of the commands of the ring that is under way; take it back if one of them says so.

    Returns :data:`DONE`, :data:`TAKEN_BACK`, or :data:`WAITS` if a condition is not decided: to be run again later.

    Raises:
        UsageError: a command cannot be run, or could not write its files; nothing is taken back for that.
    """
    state = file.state
    commands = files.forward(state.ring)
    while state.place < len(commands):
        command = commands[state.place]
        code = _exit_code(file, command)
        if code == 0:
            state.place += 1
            file.save()
        elif command.kind == "files":
            raise UsageError(f"ring {state.ring} stops before: {shlex.join(command.words)}", "see what it says above")
        elif command.kind == "condition" and code != 1:
            state.place -= command.repeats
            file.save()
            note(f"ring {state.ring} waits: this is not decided (exit code {code}): {shlex.join(command.words)}")
            return WAITS
        else:
            begin_back(file, f"exit code {code}: {shlex.join(command.words)}")
            return take_back(file, files)
    state.direction, state.problem = "rest", None
    file.save()
    note(f"ring {state.ring} is done")
    return DONE


def begin_back(file: StateFile, problem: str) -> None:
    """Write that the ring is to be taken back, before anything is."""
    state = file.state
    state.reached = state.place + (state.direction == "forward")
    state.direction, state.place, state.problem = "backward", 0, problem
    file.save()
    note(f"ring {state.ring} is taken back: {problem}")


def take_back(file: StateFile, files: RolloutFiles) -> int:
    """Run the rest of the commands that take the ring back.

    Raises:
        UsageError: one of them fails; the ring is taken back in part, and the same can be run again.
    """
    state = file.state
    commands = files.backward(state.ring, state.reached)
    while state.place < len(commands):
        command = commands[state.place]
        code = _exit_code(file, command)
        if code:
            problem = f"ring {state.ring} is not taken back: exit code {code}: {shlex.join(command.words)}"
            raise UsageError(problem, "mend it, then: originset plan rollout back")
        state.place += 1
        file.save()
    note(f"ring {state.ring} is taken back")
    state.direction, state.ring, state.place = "rest", state.ring - 1, 0
    file.save()
    return TAKEN_BACK


def _exit_code(file: StateFile, command: RingCommand) -> int:
    """What a command exits with; the folder that it writes is removed before.

    Raises:
        NotRegularError: a link or a file is in the place of that folder.
    """
    note(f"ring {file.state.ring}: {shlex.join(command.words)}")
    if command.writes is not None:
        with open_folder(command.writes.parent) as folder:
            remove_tree(folder, command.writes.name, command.writes)
    if command.kind == "program":
        try:
            code = subprocess.run(command.words, check=False).returncode
        except OSError as error:
            raise UsageError(
                f"{command.words[0]} cannot be run ({error.strerror})", "name it with --program"
            ) from error
    else:
        code = _originset(command.words[1:])
    file.ended(list(command.words), code)
    return code


def _originset(words: tuple[str, ...]) -> int:
    """The exit code of one of our own commands, which is run in this process."""
    try:
        code = main.main(args=list(words), prog_name="originset", standalone_mode=False)
    except OriginsetError as error:
        note(f"error: {error}")
        return error.exit_code
    except click.ClickException as error:
        note(f"error: {error.format_message()}")
        return error.exit_code
    except SystemExit as ended:
        return int(ended.code or 0)
    return int(code or 0)
