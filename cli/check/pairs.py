"""``originset check pairs``: what a study's evidence is worth, by asking servers for one another's hosts."""

from __future__ import annotations

from pathlib import Path

import click
import polars as pl

from originset.cli.check.evidence_sample import DRAWN_PAIRS, drawn_pairs, precision
from originset.cli.common.command_tree import Command, study_option
from originset.cli.common.contact_options import allow_private_option, ca_file_option, max_time_option, rate_option
from originset.cli.common.output import format_option, note, write_rows
from originset.crawler.probe.live_lookups import LookupPolicy
from originset.crawler.probe.pair_answers import ask_pairs
from originset.data.errors import UsageError
from originset.data.studies.study import Study

_NOT_COMPARED = 3

_OF_PAIR = ("kind", "level", "provider")
_ANSWERS = pl.Schema(dict.fromkeys(("server", "host", "address", "result", "detail"), pl.String()))
ASKED_PAIRS = pl.Schema({name: DRAWN_PAIRS[name] for name in _OF_PAIR} | dict(_ANSWERS))


@click.command(cls=Command)
@click.option("--live", is_flag=True, help="Contact servers. Without it nothing is contacted.")
@click.option("--dry-run", is_flag=True, help="List the pairs that would be asked, and contact nothing.")
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    metavar="N",
    help="Draw at most N pairs of each kind of evidence and provider.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, metavar="N", help="Draws other pairs."
)
@rate_option(1.0)
@max_time_option(600.0)
@allow_private_option
@ca_file_option
@study_option
@format_option
@click.pass_obj
def command(
    study: Study,
    /,
    *,
    live: bool,
    dry_run: bool,
    sample: int,
    seed: int,
    rate: float,
    max_time: float,
    allow_private: bool,
    ca_file: Path | None,
    output_format: str,
) -> None:
    """Ask servers for hosts that a study's evidence puts on them.

    Draws pairs of hosts from the table colocation_evidence, by kind of evidence and provider. Requests the page / of
    each host over a connection that was opened for the other, and from the host's own server; the answers are the same
    if status, redirect and media type are. Only public IP addresses are contacted.

    A row is a host requested over a connection that was opened for server. How many answers were the same is printed
    for each kind of evidence, with a 95 % interval. The study is not changed.

    Exit codes: 0 all pairs were compared, 3 some could not be.

    Example: originset --study S check pairs --dry-run
    """
    drawn = drawn_pairs(study, sample, seed)
    if dry_run:
        write_rows(drawn, output_format)
        note(f"{drawn.height} pairs would be asked, each both ways; nothing was contacted")
        return
    if not live:
        raise UsageError("check pairs contacts the servers of the study", "permit it with --live, or see --dry-run")
    policy = LookupPolicy(None, rate, allow_private, ca_file)
    both_ways = pl.concat(
        [
            drawn.select(*_OF_PAIR, server="host_a", host="host_b"),
            drawn.select(*_OF_PAIR, server="host_b", host="host_a"),
        ]
    )
    asked = both_ways.select("server", "host").unique(maintain_order=True)
    answers = ask_pairs(asked.rows(), policy, max_time)
    answered = both_ways.join(pl.DataFrame(answers, schema=_ANSWERS), on=["server", "host"], maintain_order="left")
    write_rows(answered, output_format)
    for kind, compared, same, *shares in precision(answered).iter_rows():
        note("{}: {} of {} the same, {:.0f} % (95 % interval {:.0f} to {:.0f} %)".format(kind, same, compared, *shares))
    if missing := answered.filter(result="not compared").height:
        note(f"not compared: {missing} of {answered.height} rows; their details say why")
        click.get_current_context().exit(_NOT_COMPARED)
