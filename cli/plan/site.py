"""``originset plan site``: what a site's operator can announce now, and which names are missing for more."""

from __future__ import annotations

from pathlib import Path

import click

from originset.cli.common.command_tree import Command, study_option
from originset.cli.common.files import FILE, write_text_or_print
from originset.cli.common.output import format_option, note, write_rows
from originset.cli.plan.options import (
    exclude_from_option,
    exclude_option,
    exclusions,
    max_additions_option,
    plan_out_option,
    zero_savings_option,
)
from originset.data.quantity import quantity
from originset.data.studies.study import Study
from originset.models.plans.certificate_costs import Costs
from originset.models.plans.client_mix_file import read_client_mix
from originset.models.plans.origin_plan import Plan
from originset.models.plans.plan_file import plan_text
from originset.models.plans.plan_rows import plan_rows
from originset.models.plans.site_plan import site_plan


@click.command(cls=Command)
@click.argument("site", metavar="HOST")
@max_additions_option
@exclude_option
@exclude_from_option
@zero_savings_option
@click.option(
    "--client-mix",
    type=FILE,
    metavar="FILE",
    help="Rank names by what they save on average over these clients: a CSV with the columns browser (chromium, "
    "firefox, other), protocol (h2, h3) and share, or TOML.",
)
@plan_out_option
@study_option
@format_option
@click.pass_obj
def command(
    study: Study,
    *,
    site: str,
    max_additions: int | None,
    exclude: tuple[str, ...],
    exclude_from: Path | None,
    zero_savings: bool,
    client_mix: Path | None,
    out: Path | None,
    output_format: str,
) -> None:
    """Plan a site's ORIGIN sets and certificate names.

    HOST is the site as the study has it. Rows marked "announce" can be announced in ORIGIN frames today. Announce a
    name to add only after the certificate covers it and its owner has confirmed that the server may answer for it.

    Only names of the site itself are proposed for its certificate; for all others ask the provider. Savings are given
    for each browser. The file that --out writes also holds advice for each browser, costs in handshake bytes, and the
    HTTPS records that belong to the plan. plan config, plan certificate, plan predict, check server and experiment
    verify read it.

    Example: originset --study S plan site www.example.com --out plan.json
    """
    mix = None if client_mix is None else read_client_mix(client_mix)
    excluded = exclusions(exclude, exclude_from)
    made = site_plan(study, site, max_additions, excluded=excluded, client_mix=mix, zero_savings=zero_savings)
    if out is not None:
        write_text_or_print(out, plan_text(made))
    if out != Path("-"):
        write_rows(plan_rows(made), output_format)
    for line in _remarks(made):
        note(line)


def _remarks(made: Plan) -> list[str]:
    basis = made.basis
    dates = f"{basis.first_visit or 'not dated'} to {basis.last_visit or 'not dated'}"
    seen = f"{quantity(basis.visits, 'visit')} from {quantity(basis.vantages, 'named vantage')}"
    lines = [f"rests on {seen}, {dates}"]
    lines += [f"{server.server}: {warning}" for server in made.servers for warning in server.warnings]
    if made.additions_not_taken:
        lines.append(f"{quantity(made.additions_not_taken, 'more name')} could be added")
    if made.costs is not None and made.costs.added_names:
        lines.append(_cost(made.costs))
    lines += [f"{one.browser} {one.protocol}: {one.says}" for one in made.advice]
    lines += [f"publish, if {record.only_if}: {record.line}" for record in made.https_records]
    if made.client_mix is not None:
        lines.append("of the client mix, Firefox over HTTP/3 and others are counted as saving nothing")
    return lines


def _cost(costs: Costs) -> str:
    grown = (
        f"{quantity(costs.added_names, 'name')} to add: {costs.added_bytes} bytes in every full handshake, "
        f"{quantity(costs.issuances, 'issuance')}"
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
