"""The file that holds a rollout: written by ``plan inventory --rollout``."""

from __future__ import annotations

from pathlib import Path

import msgspec

from originset.data.errors import InputError
from originset.models.plans.inventory.rollout import Rollout

# Some 200 bytes a certificate.
_MAX_ROLLOUT_BYTES = 1 << 30


def read_rollout(path: Path) -> Rollout:
    """A rollout from a file.

    Raises:
        InputError: it cannot be read, or is none.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_ROLLOUT_BYTES + 1)
    except OSError as error:
        raise InputError(str(path), "unreadable", f"cannot be read ({error.strerror})") from error
    if len(content) > _MAX_ROLLOUT_BYTES:
        raise InputError(str(path), "too-large", "is too large for a rollout")
    try:
        return msgspec.json.decode(content, type=Rollout)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise InputError(str(path), "not-a-rollout", f"is not a rollout ({error})") from error
