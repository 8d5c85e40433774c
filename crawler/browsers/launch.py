"""Starting a Chromium that nobody but us can steer: its DevTools speak over a pair of pipes and listen nowhere.

The kernel ends it when we end, and its temporary files are in our folder.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from originset.crawler.programs import require_programs
from originset.crawler.settings import VisitSettings
from originset.data.errors import BrowserError

# --remote-debugging-pipe reads commands from descriptor 3 and writes answers to 4, which no Popen can hand out: the
# shell takes them from where Popen puts its pipes.
_PIPES_AT_3_AND_4 = ("sh", "-c", 'exec "$@" 3<&0 4>&1 </dev/null >/dev/null', "sh")
_FEATURE_LISTS = ("--enable-features=", "--disable-features=")

# chrome/common/pref_names.h. What a new profile would do otherwise: requests of the browser's own, and questions.
_PREFERENCES = {
    "alternate_error_pages": {"enabled": False},
    "safebrowsing": {"enabled": False},
    "search": {"suggest_enabled": False},
    "signin": {"allowed_on_next_startup": False},  # which becomes signin.allowed
    "translate": {"enabled": False},
}
# content_settings::CookieControlsMode: off, block third-party cookies.
_COOKIE_CONTROLS = {"allowed": 0, "blocked": 1}


# The parent may have ended before setpriv could ask the kernel.
_PARENT_LIVES = ("sh", "-c", '[ "$PPID" = "$0" ] && exec "$@"')


def end_with_parent(filtering: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The words to put before a command that this process starts, so that the kernel ends it when this process ends.

    ``filtering``: the words of :func:`~originset.crawler.browsers.connection_filter.filter_command`, which do the same.
    They go behind those that make a user namespace: a new one makes the kernel forget.

    Raises:
        MissingDependency: setpriv is not installed.
    """
    if filtering:
        return filtering
    require_programs("setpriv")
    return "setpriv", "--pdeathsig", "KILL", "--", *_PARENT_LIVES, str(os.getpid())


def start_with_pipes(
    settings: VisitSettings, binary: str, within: tuple[str, ...], flags: Sequence[str], folder: Path
) -> subprocess.Popen[bytes]:
    """A new browser: DevTools commands go to its ``stdin``, answers come from its ``stdout``.

    ``within``: words of a command that starts another, :func:`end_with_parent`'s among them. The browser writes below
    ``folder`` only.

    Raises:
        BrowserError: there is no such program, or the folder cannot be written.
    """
    command = [*within, *_PIPES_AT_3_AND_4, binary, *merged_features(flags)]
    try:
        if settings.browser == "chromium":
            _write_preferences(settings, folder / "profile")
        with stderr_file(folder).open("wb") as errors:
            return subprocess.Popen(
                [*command, f"--user-data-dir={folder / 'profile'}", "--remote-debugging-pipe", "about:blank"],
                env=_environment(settings, folder),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                bufsize=0,
                # Ctrl-C in a terminal goes to the whole process group; when browsers end is ours to say.
                start_new_session=True,
            )
    except OSError as error:
        raise BrowserError(settings.browser, f"it did not start ({error})") from error


def stderr_file(folder: Path) -> Path:
    """The file for what the browser of this folder says on its stderr."""
    return folder / "stderr.txt"


def last_message(folder: Path) -> str:
    """The last line that the browser of this folder said."""
    return (stderr_file(folder).read_text(errors="replace").strip().splitlines() or ["no message"])[-1]


def merged_features(flags: Sequence[str]) -> list[str]:
    """The flags with one list of features to enable and one to disable: of several, Chromium heeds the last alone."""
    others = [flag for flag in flags if not flag.startswith(_FEATURE_LISTS)]
    lists = {name: [flag.removeprefix(name) for flag in flags if flag.startswith(name)] for name in _FEATURE_LISTS}
    return others + [name + ",".join(features) for name, features in lists.items() if features]


def _write_preferences(settings: VisitSettings, profile: Path) -> None:
    """What chrome://settings would write; headless-shell takes flags alone."""
    cookies = {"cookie_controls_mode": _COOKIE_CONTROLS[settings.third_party_cookies]}
    place = profile / "Default" / "Preferences"
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps({**_PREFERENCES, "profile": cookies}), encoding="utf-8")


def _environment(settings: VisitSettings, folder: Path) -> dict[str, str]:
    scratch = folder / "t"  # the browser's own left-overs go with the folder
    scratch.mkdir()
    return {**os.environ, "TMPDIR": str(scratch), **settings.environment}
