"""What files of one name are called, so that each has a source of its own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from originset.analysis.importing.har_files import HarFile
from originset.data.sanitising.printable import path_text


def named_by_folder(files: Sequence[HarFile]) -> list[HarFile]:
    """The files; of those with one source each has its path from the folder that they have in common as its source."""
    by_source: dict[str, list[HarFile]] = {}
    for file in files:
        by_source.setdefault(file.source, []).append(file)
    shared_folders = {
        source: os.path.commonpath([file.path.parent for file in alike])
        for source, alike in by_source.items()
        if len(alike) > 1
    }
    return [
        replace(file, source=path_text(file.path.relative_to(shared_folders[file.source])))
        if file.source in shared_folders
        else file
        for file in files
    ]
