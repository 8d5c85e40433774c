"""``originset check budget``: pages by what they may cost, for continuous integration."""

from __future__ import annotations

from pathlib import Path

import click
import polars as pl

from originset.cli.common.command_tree import Command, study_option
from originset.cli.common.files import FILE
from originset.cli.common.output import FORMATS, note, say, write_rows
from originset.cli.modelling.scratch_study import study_of
from originset.data.errors import UsageError
from originset.data.studies.database import open_database
from originset.data.studies.study import Study
from originset.queries.budget_file import read_budget
from originset.queries.github_annotations import github_lines
from originset.queries.page_budget import OVER, UNKNOWN, PageBudget, budget_verdicts

_GITHUB = "github"

# 2 is wrong usage, as of every command.
_WITHIN, _OVER, _UNDECIDED = 0, 1, 3


@click.command(cls=Command)
@click.argument("budget_path", metavar="BUDGET", type=FILE)
@click.argument("hars", nargs=-1, metavar="[HAR]...", type=FILE)
@click.option(
    "--format",
    "output_format",
    type=click.Choice([*FORMATS, _GITHUB]),
    default="table",
    show_default=True,
    help="Format of the rows on stdout; github: annotations of a GitHub workflow.",
)
@study_option
@click.pass_context
def command(ctx: click.Context, *, budget_path: Path, hars: tuple[Path, ...], output_format: str) -> None:
    """Check pages against a budget.

    BUDGET is a TOML file. Its table [budget] limits connections, redundant_connections, missing_names and
    third_party_ases of every page; tables [[page]], each with a site or url, set other limits for that page. The pages
    are those of the HAR files, or of the study if there are none. A row is a page and one of its limits.

    Exit codes: 0 within budget, 1 over budget, 2 wrong usage or an input that cannot be read, 3 within budget as far as
    that could be decided.

    Example: originset check budget budget.toml page.har
    """
    default, overrides = read_budget(budget_path)
    if hars:
        with study_of(hars) as made:
            rows = _verdicts(made, default, overrides)
    else:
        rows = _verdicts(ctx.obj, default, overrides)
    if rows.is_empty():
        raise UsageError(
            f"{budget_path} limits nothing of these pages", "its [[page]] tables name others, and [budget] nothing"
        )
    if output_format == _GITHUB:
        for line in github_lines(rows, budget_path):
            say(line)
    else:
        write_rows(rows, output_format)
    over, unknown = (rows.filter(verdict=verdict).height for verdict in (OVER, UNKNOWN))
    note(f"{over} of {rows.height} limits are exceeded, {unknown} could not be decided")
    ctx.exit(_OVER if over else _UNDECIDED if unknown else _WITHIN)


def _verdicts(study: Study, default: PageBudget, overrides: list[PageBudget]) -> pl.DataFrame:
    with open_database(study) as connection:
        return budget_verdicts(connection, default, overrides)
