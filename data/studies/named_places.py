"""Places for captures outside a study's folder that this user named, each for one study.

A study says in study.json where its captures are kept, and anybody may have written that. So a place outside the
study's own folder is read from, written to or asked only if this user named it for this study with ``--captures``, now
or in an earlier run. That is noted below the user's own folder for state (``XDG_STATE_HOME``), a file a study.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import platformdirs

from originset.data.errors import UsageError
from originset.data.files.atomic_files import read_whole, replacing

_MAX_BYTES = 64 << 10


def note_place(study: Path, place: str) -> None:
    """Record that the user confirmed ``place`` for the study in this folder.

    Raises:
        UsageError: it cannot be noted.
    """
    path = _note_path(study)
    try:
        with replacing(path, private=True) as temporary:
            temporary.write_text(json.dumps({"study": os.path.realpath(study), "captures": place}) + "\n")
    except OSError as error:
        problem = f"that captures are kept in {place} cannot be noted in {path} ({error.strerror})"
        raise UsageError(problem, "set XDG_STATE_HOME to a folder of yours") from error


def is_noted(study: Path, place: str) -> bool:
    """Whether the user confirmed this place for the study in this folder."""
    try:
        noted = json.loads(read_whole(_note_path(study), _MAX_BYTES))
    except (OSError, OverflowError, ValueError):
        return False
    return bool(noted == {"study": os.path.realpath(study), "captures": place})


def _note_path(study: Path) -> Path:
    name = hashlib.sha256(os.fsencode(os.path.realpath(study))).hexdigest()
    return platformdirs.user_state_path("originset") / "capture-places" / f"{name}.json"
