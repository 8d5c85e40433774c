"""Options that experiments have in common."""

from __future__ import annotations

from pathlib import Path

import click

out_folder_option = click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("experiment"),
    show_default=True,
    help="Write figures and numbers to this folder, which is made if it does not exist.",
)
