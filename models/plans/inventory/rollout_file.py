"""The file that holds a rollout: written by ``plan inventory --rollout``."""

from __future__ import annotations

from pathlib import Path

from originset.data.errors import InputError
from originset.data.files.json_file import read_json
from originset.models.plans.inventory.rollout import Rollout

# Some 200 bytes a certificate.
_MAX_ROLLOUT_BYTES = 1 << 30


def read_rollout(path: Path) -> Rollout:
    """A rollout from a file.

    Raises:
        InputError: it cannot be read, is none, or its rings are not numbered 1, 2, 3 and so on.
    """
    rollout = read_json(path, Rollout, "a rollout", most_bytes=_MAX_ROLLOUT_BYTES)
    for place, one in enumerate(rollout.rings):
        if one.ring != place + 1:
            detail = f"is not a rollout: rings[{place}].ring is {one.ring}, not {place + 1}: rings are in their order"
            raise InputError(str(path), "not-a-rollout", detail)
    return rollout
