"""``originset plan``: what a site's operator can announce now, and which names are missing for more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
import msgspec
import polars as pl

from originset.cli import inventory_plan
from originset.cli.files import write_text
from originset.cli.output import format_option, note, write_rows
from originset.cli.site_plan import site_plan
from originset.cli.writers.name_list import USUAL_LIMIT
from originset.data.study import Study
from originset.models.inventory import Limits
from originset.models.plan import Plan

_COLUMNS = pl.Schema(
    {
        "action": pl.String(),
        "server": pl.String(),
        "host": pl.String(),
        "port": pl.Int64(),
        "why": pl.String(),
        "level": pl.Int64(),
        "requests": pl.Int64(),
        "visits": pl.Int64(),
        "seen_share": pl.Float64(),
        "coalesces_today": pl.Boolean(),
        "connections_saved_paper": pl.Int64(),
    }
)


@click.command()
@click.option("--site", metavar="HOST", help="The site, as the study calls it.")
@click.option(
    "--inventory",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Certificates of a whole CDN (CSV or Parquet): certificate, names, key_holder, ca, owner, shared, opt_out, "
    "multi_cdn, caa.",
)
@click.option(
    "--pairs",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="With --inventory: new connections a day (CSV or Parquet): site, host, connections.",
)
@click.option(
    "--max-additions",
    type=click.IntRange(min=0),
    metavar="N",
    help="Propose at most N names to add to a certificate; of an inventory 4 if not given.",
)
@click.option(
    "--max-names",
    type=click.IntRange(min=1),
    default=USUAL_LIMIT,
    show_default=True,
    metavar="N",
    help="With --inventory: names that the CA takes in one certificate.",
)
@click.option(
    "--rollout",
    "rollout_path",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="With --inventory: write rings, control groups and steps as JSON.",
)
@click.option("--control-domain", metavar="DOMAIN", help="With --rollout: where the control's unused names lie.")
@click.option("--seed", default="1", show_default=True, help="With --rollout: another seed gives other rings.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path, allow_dash=True),
    metavar="FILE",
    help="Write the plan as JSON, which config reads; - writes it to stdout instead of the table.",
)
@format_option
@click.pass_obj
def command(
    study: Study,
    *,
    site: str | None,
    inventory: Path | None,
    pairs: Path | None,
    max_additions: int | None,
    max_names: int,
    rollout_path: Path | None,
    control_domain: str | None,
    seed: str,
    out: Path | None,
    output_format: str,
) -> None:
    """Say what a site can announce in ORIGIN frames now, what it must not, and which names its certificate lacks.

    Announce what is marked so today. A name to add is announced only after the certificate covers it and its owner has
    confirmed that the server may answer for it.

    With --inventory and --pairs it says instead which names to add to which of a CDN's certificates, by the connections
    that they save each day, and --rollout writes how to do it in rings. No study is needed for that.

    Example: originset --study S plan --site www.example.com --out plan.json
    """
    if (site is None) == (inventory is None) or (inventory is None) != (pairs is None):
        raise click.UsageError("Give --site, or --inventory with --pairs.")
    if inventory is not None and pairs is not None:
        limits = Limits(4 if max_additions is None else max_additions, max_names)
        planned = inventory_plan.make(inventory, pairs, limits)
        inventory_plan.show(planned, out, output_format)
        if rollout_path is not None:
            inventory_plan.write_rollout(planned, control_domain, rollout_path, seed)
        return
    if rollout_path is not None:
        raise click.UsageError("--rollout is for --inventory.")
    made = site_plan(study, site or "", max_additions)
    if out == Path("-"):
        click.echo(plan_text(made), nl=False)
    else:
        if out is not None:
            write_text(out, plan_text(made))
        write_rows(rows(made), output_format)
    basis = made.basis
    note(
        f"rests on {basis.visits} visits from {basis.vantages} named vantages, "
        f"{basis.first_visit} to {basis.last_visit}"
    )
    for server in made.servers:
        for warning in server.warnings:
            note(f"{server.server}: {warning}")
    if made.additions_not_taken:
        note(f"{made.additions_not_taken} more names could be added")


def plan_text(made: Plan) -> str:
    """plan.json: indented, and ASCII, so that no terminal or editor obeys what a stranger named a host."""
    return json.dumps(msgspec.to_builtins(made), indent=2, ensure_ascii=True) + "\n"


def rows(made: Plan) -> pl.DataFrame:
    """The plan as rows: what to announce, what to leave out, names to add or to ask their owners for."""
    shown: list[dict[str, Any]] = []
    for server in made.servers:
        for entry in server.announce:
            place = urlsplit(entry.origin)
            facts = {"action": "announce", "server": server.server, "host": place.hostname, "port": place.port or 443}
            shown.append({**facts, **_shared(entry)})
        shown += [
            {"action": "leave out", "server": server.server, "why": left.detail, **_shared(left)}
            for left in server.left_out
        ]
    for addition in made.additions:
        action = "add to certificate" if addition.same_owner else "ask its owner"
        shown.append({"action": action, "host": addition.name, "why": "not in the certificate", **_shared(addition)})
    shown += [{"action": "do not add", "host": left.name, "why": left.detail} for left in made.additions_left_out]
    return pl.DataFrame(shown, schema=_COLUMNS)


def _shared(entry: msgspec.Struct) -> dict[str, Any]:
    return {name: value for name, value in msgspec.structs.asdict(entry).items() if name in _COLUMNS}
