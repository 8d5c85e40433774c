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
from originset.cli.client_mix import read_client_mix
from originset.cli.files import FILE, write_text
from originset.cli.output import format_option, note, write_rows
from originset.cli.plan_prediction import prediction
from originset.cli.plan_source import read_plan
from originset.cli.provider_plan import provider_plan
from originset.cli.site_plan import site_plan
from originset.cli.writers.name_list import USUAL_LIMIT
from originset.data.studies.study import Study
from originset.models.plans.certificate_costs import Costs
from originset.models.plans.certificate_inventory import Limits
from originset.models.plans.origin_plan import Plan, counted

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
        "connections_saved_chromium": pl.Int64(),
        "connections_saved_chromium_h3": pl.Int64(),
        "connections_saved_firefox": pl.Int64(),
        "connections_saved_mix": pl.Float64(),
    }
)

# By who can validate the name.
_TO_ADD = {
    "site": ("add to certificate", "not in the certificate"),
    "provider": ("ask the provider", "not in the certificate; it is on the provider's edge, not the site's own"),
    "nobody_known": ("ask the provider", "not in the certificate, and nobody is known who could validate it"),
    None: ("ask the provider", "not in the certificate, and it is not known who could validate it"),
}


@click.command()
@click.option("--site", metavar="HOST", help="The site, as the study calls it.")
@click.option("--provider", metavar="NAME", help="What this provider would best add to all its sites' certificates.")
@click.option(
    "--inventory",
    type=FILE,
    metavar="FILE",
    help="Certificates of a whole CDN (CSV or Parquet): certificate, names, key_holder, ca, owner, shared, opt_out, "
    "multi_cdn, caa.",
)
@click.option(
    "--predict",
    type=FILE,
    metavar="FILE",
    help="What each browser needs for the site's pages today and after the plan that --out wrote.",
)
@click.option(
    "--pairs",
    type=FILE,
    metavar="FILE",
    help="With --inventory: new connections a day (CSV or Parquet): site, host, connections.",
)
@click.option(
    "--max-additions",
    type=click.IntRange(min=0),
    metavar="N",
    help="Propose at most N names to add to a certificate; of an inventory 4 if not given.",
)
@click.option("--exclude", multiple=True, metavar="HOST", help="Neither announce nor add this host (repeatable).")
@click.option(
    "--client-mix",
    type=FILE,
    metavar="FILE",
    help="Rank names by what they save on average over these clients: CSV with browser (chromium, firefox, other), "
    "protocol (h2, h3) and share, or TOML.",
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
    provider: str | None,
    inventory: Path | None,
    predict: Path | None,
    pairs: Path | None,
    max_additions: int | None,
    exclude: tuple[str, ...],
    client_mix: Path | None,
    max_names: int,
    rollout_path: Path | None,
    control_domain: str | None,
    seed: str,
    out: Path | None,
    output_format: str,
) -> None:
    """Say what a site can announce in ORIGIN frames now, what it must not, and which names its certificate lacks.

    Rows marked announce can be announced today. A name to add is announced only after the certificate covers it and its
    owner has confirmed that the server may answer for it.

    Only names of the site itself are proposed for its certificate; for all others the provider has to be asked. What
    each saves is told by browser; plan.json holds advice for each, costs, and the HTTPS records that belong to it.

    With --inventory and --pairs it says instead which names to add to which of a CDN's certificates, by the connections
    that they save each day, and --rollout writes how to do it in rings. No study is needed for that.

    Example: originset --study S plan --site www.example.com --out plan.json
    """
    if predict is not None:
        if site is not None or provider is not None or inventory is not None:
            raise click.UsageError("--predict is for a plan that is there: without --site, --provider, --inventory.")
        write_rows(prediction(study, read_plan(predict)), output_format)
        return
    _check(site, provider, inventory, pairs, exclude=exclude, client_mix=client_mix)
    excluded = frozenset(host.lower() for host in exclude)
    if inventory is not None and pairs is not None:
        limits = Limits(4 if max_additions is None else max_additions, max_names)
        planned = inventory_plan.make(inventory, pairs, limits)
        inventory_plan.show(planned, out, output_format)
        if rollout_path is not None:
            inventory_plan.write_rollout(planned, control_domain, rollout_path, seed)
        return
    if rollout_path is not None:
        raise click.UsageError("--rollout is for --inventory.")
    if provider is not None:
        _show_provider(provider_plan(study, provider, max_additions, excluded), out, output_format)
        return
    mix = None if client_mix is None else read_client_mix(client_mix)
    made = site_plan(study, site or "", max_additions, excluded=excluded, client_mix=mix)
    if out == Path("-"):
        click.echo(plan_text(made), nl=False)
    else:
        if out is not None:
            write_text(out, plan_text(made))
        write_rows(rows(made), output_format)
    for line in _remarks(made):
        note(line)


def _check(
    site: str | None,
    provider: str | None,
    inventory: Path | None,
    pairs: Path | None,
    *,
    exclude: tuple[str, ...],
    client_mix: Path | None,
) -> None:
    if [site, provider, inventory].count(None) != 2 or (inventory is None) != (pairs is None):
        raise click.UsageError("Give --site, or --provider, or --inventory with --pairs, or --predict.")
    if client_mix is not None and site is None:
        raise click.UsageError("--client-mix is for --site.")
    if exclude and inventory is not None:
        raise click.UsageError("--exclude is for --site and --provider; an inventory has its own opt_out.")


def _show_provider(found: pl.DataFrame, out: Path | None, output_format: str) -> None:
    if out is None:
        write_rows(found, output_format)
        return
    text = json.dumps(found.rows(named=True), indent=2, ensure_ascii=True) + "\n"
    if out == Path("-"):
        click.echo(text, nl=False)
    else:
        write_text(out, text)


def _remarks(made: Plan) -> list[str]:
    basis = made.basis
    dates = f"{basis.first_visit or 'not dated'} to {basis.last_visit or 'not dated'}"
    seen = f"{counted(basis.visits, 'visit')} from {counted(basis.vantages, 'named vantage')}"
    lines = [f"rests on {seen}, {dates}"]
    lines += [f"{server.server}: {warning}" for server in made.servers for warning in server.warnings]
    if made.additions_not_taken:
        lines.append(f"{counted(made.additions_not_taken, 'more name')} could be added")
    if made.costs is not None and made.costs.added_names:
        lines.append(_cost(made.costs))
    lines += [f"{one.browser} {one.protocol}: {one.says}" for one in made.advice]
    lines += [f"publish, if {record.only_if}: {record.line}" for record in made.https_records]
    if made.client_mix is not None:
        lines.append("of the client mix, Firefox over HTTP/3 and others are counted as saving nothing")
    return lines


def _cost(costs: Costs) -> str:
    grown = (
        f"{counted(costs.added_names, 'name')} to add: {costs.added_bytes} bytes in every full handshake, "
        f"{counted(costs.issuances, 'issuance')}"
    )
    if costs.chain_bytes is None:
        return f"{grown}; the size of the chain is not known, so neither is whether it crosses a limit"
    crossed = [
        title
        for title, crosses in (
            (f"TCP's initial window ({costs.tcp_initial_window_bytes} bytes)", costs.crosses_tcp_initial_window),
            (f"QUIC's limit before validation ({costs.quic_limit_bytes} bytes)", costs.crosses_quic_limit),
        )
        if crosses
    ]
    says = f"crosses {' and '.join(crossed)}: a round trip more" if crossed else "crosses no limit"
    return f"{grown}; the certificates' {costs.chain_bytes} bytes grow by them, which {says}"


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
        action, why = _TO_ADD[addition.validatable_by]
        shown.append({"action": action, "host": addition.name, "why": why, **_shared(addition)})
    shown += [{"action": "do not add", "host": left.name, "why": left.detail} for left in made.additions_left_out]
    return pl.DataFrame(shown, schema=_COLUMNS)


def _shared(entry: msgspec.Struct) -> dict[str, Any]:
    return {name: value for name, value in msgspec.structs.asdict(entry).items() if name in _COLUMNS}
