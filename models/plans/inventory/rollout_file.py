"""The file that holds a rollout: written by ``plan inventory --rollout``."""

from __future__ import annotations

from pathlib import Path

from originset.data.files.json_file import read_json
from originset.models.plans.inventory.rollout import Rollout

# Some 200 bytes a certificate.
_MAX_ROLLOUT_BYTES = 1 << 30


def read_rollout(path: Path) -> Rollout:
    """A rollout from a file.

    Raises:
        InputError: it cannot be read, or is none.
    """
    return read_json(path, Rollout, "a rollout", most_bytes=_MAX_ROLLOUT_BYTES)
