"""``originset figures``: the paper's figures from this study."""

from __future__ import annotations

from pathlib import Path

import click

from originset.cli.output import note
from originset.data.database import open_database
from originset.data.errors import UsageError
from originset.data.study import Study
from originset.queries.figures import draw


@click.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("figures"),
    show_default=True,
    help="The folder for them; made if it is not there.",
)
@click.pass_obj
def command(study: Study, out: Path) -> None:
    """Draw the paper's figures 1, 3 and 4: PDF, SVG, PNG and the CSV behind each. Prints the paths.

    Example: originset --study S figures --out figures
    """
    with open_database(study) as connection:
        try:
            out.mkdir(parents=True, exist_ok=True)
            paths, missing = draw(connection, out)
        except OSError as error:
            raise UsageError(f"{out} cannot be written ({error.strerror})", "name another folder with --out") from error
    for path in paths:
        click.echo(path)
    for reason in missing:
        note(reason)
