"""Whom a worker of a cluster trusts on its own machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from other_user import OTHER_UID

from originset.crawler.cluster.security import require_own_folder
from originset.data.errors import UsageError


@pytest.mark.promise("workers-have-their-own-folder")
def test_a_folder_that_others_can_exchange(tmp_path: Path) -> None:
    """As another user finds it who made /tmp/dask-scratch-space first."""
    folder = tmp_path / "dask-scratch-space" / "worker-1"
    folder.mkdir(parents=True)
    require_own_folder(folder)
    folder.parent.chmod(0o777)
    with pytest.raises(UsageError, match="dask-scratch-space, which other users"):
        require_own_folder(folder)
    folder.parent.chmod(0o775)
    require_own_folder(folder)
    if os.geteuid() == 0:
        os.chown(folder.parent, -1, OTHER_UID)
        with pytest.raises(UsageError, match="which other users"):
            require_own_folder(folder)
    folder.parent.chmod(0o1777)
    require_own_folder(folder)
    link = tmp_path / "link"
    link.symlink_to(folder)
    if os.geteuid() == 0:
        os.chown(folder.parent, OTHER_UID, -1)
        for name in (folder, link):
            with pytest.raises(UsageError, match="--local-directory"):
                require_own_folder(name)
