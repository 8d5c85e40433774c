"""``originset plan inventory``: names for the certificates of a CDN, by its own files; no study is needed."""

from __future__ import annotations

import json
from pathlib import Path

import click
import msgspec
import polars as pl

from originset.cli.common.command_tree import Command
from originset.cli.common.files import FILE, write_text, write_text_or_print
from originset.cli.common.output import format_option, note, write_rows
from originset.cli.plan.options import exclude_from_option, exclude_option, exclusions, plan_out_option
from originset.cli.writers.name_list import USUAL_LIMIT
from originset.data.errors import UsageError
from originset.models.plans.inventory.certificate_inventory import InventoryPlan, Limits
from originset.models.plans.inventory.inventory_files import plan_of_files, read_inventory
from originset.models.plans.inventory.inventory_plan_file import inventory_plan_text
from originset.models.plans.inventory.rollout import rollout


@click.command(cls=Command)
@click.argument("inventory", metavar="CERTIFICATES", type=FILE)
@click.option(
    "--pairs",
    type=FILE,
    required=True,
    metavar="FILE",
    help="New connections a day: a CSV or Parquet file with the columns site, host and connections.",
)
@click.option(
    "--max-additions",
    type=click.IntRange(min=0),
    default=4,
    show_default=True,
    metavar="N",
    help="Propose at most N names to add to a certificate.",
)
@click.option(
    "--max-names",
    type=click.IntRange(min=1),
    default=USUAL_LIMIT,
    show_default=True,
    metavar="N",
    help="How many names the CA takes in one certificate.",
)
@exclude_option
@exclude_from_option
@plan_out_option
@click.option(
    "--rollout",
    "rollout_path",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Also write a rollout as JSON: rings of certificates with control groups.",
)
@click.option(
    "--control-domain", metavar="DOMAIN", help="With --rollout: a domain of yours for the control group's unused names."
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    help="With --rollout: the seed of the random choice of rings and control groups.",
)
@format_option
def command(
    *,
    inventory: Path,
    pairs: Path,
    max_additions: int,
    max_names: int,
    exclude: tuple[str, ...],
    exclude_from: Path | None,
    rollout_path: Path | None,
    control_domain: str | None,
    seed: int,
    out: Path | None,
    output_format: str,
) -> None:
    """Plan names for a CDN's certificates, by its traffic.

    CERTIFICATES is a CSV or Parquet file with the columns certificate and names, and key_holder, ca, owner, shared,
    opt_out, multi_cdn and caa as far as they are known. Names are ranked by the connections that they save each day.
    Certificates that cover a site together, as an RSA and an ECDSA one do, get the same names.

    Example: originset plan inventory certificates.csv --pairs traffic.csv --out plan.json
    """
    known = read_inventory(inventory)
    for remark in known.remarks:
        note(remark)
    limits = Limits(max_additions, max_names)
    planned = plan_of_files(known, pairs, limits, exclusions(exclude, exclude_from))
    _write_plan(planned, out, output_format)
    if rollout_path is not None:
        _write_rollout(planned, control_domain, rollout_path, seed)


def _write_plan(made: InventoryPlan, out: Path | None, output_format: str) -> None:
    """Rows to stdout, or everything as JSON to ``out``; what was left out to stderr."""
    if out is None:
        write_rows(made.additions, output_format)
    else:
        write_text_or_print(out, inventory_plan_text(made))
    total = made.left_out["connections"].sum()
    certificates = made.additions["certificates"].explode().n_unique()
    saved = made.additions["connections_saved"].sum()
    note(f"{made.additions.height} names for {certificates} certificates save {saved} of {total} connections a day")
    for reason, pairs, connections in made.left_out.filter(pl.col("reason") != "planned").iter_rows():
        note(f"left out: {connections} connections of {pairs} pairs: {reason}")


def _write_rollout(made: InventoryPlan, control_domain: str | None, path: Path, seed: int) -> None:
    """The rings and steps as JSON.

    Raises:
        UsageError: there is no domain for the control, or it is none.
    """
    if control_domain is None:
        raise UsageError("--rollout needs --control-domain", "a domain of yours, for the control's unused names")
    try:
        planned = rollout(made.additions, control_domain, str(seed))
    except ValueError as error:
        raise UsageError(f"--control-domain {error}") from error
    write_text(path, json.dumps(msgspec.to_builtins(planned), indent=1) + "\n")
    sizes = ", ".join(str(len(ring.certificates)) for ring in planned.rings)
    controls = sum(change.group == "control" for ring in planned.rings for change in ring.certificates)
    last = f"; the last ring is the {controls} certificates of the control" if controls else ""
    note(f"rollout: {len(planned.rings)} rings of {sizes} certificates{last}")
