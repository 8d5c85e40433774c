"""``originset study model``: the model tables again, with other parameters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import click
import polars as pl

from originset.analysis.resolution.addresses import address_rows
from originset.cli.common.command_tree import Command, study_option
from originset.cli.common.files import FILE
from originset.cli.common.output import note, progress
from originset.cli.modelling.model_batches import batch_options, batches_run
from originset.cli.modelling.rebuild import rebuild
from originset.data.errors import UsageError
from originset.data.reference import providers
from originset.data.reference.ip_to_as import IpToAs
from originset.data.reference.snapshot import current_reference
from originset.data.studies.database import open_database
from originset.data.studies.shards import scan, shard_paths
from originset.data.studies.study import Study
from originset.models.parameters import (
    BlockedTime,
    Colocation,
    Coverage,
    ParallelDns,
    Parameters,
    Predecessor,
    Ssl,
    Wildcards,
)

_CHOICES = {
    "colocation": (
        Colocation,
        (
            "When hosts count as one server: in one AS (the paper), of one organisation, on one provider's edge, of "
            "one registrable domain on one edge, or at one IP address."
        ),
    ),
    "wildcards": (Wildcards, "Whether wildcard names of certificates cover hosts."),
    "coverage": (
        Coverage,
        "A server answers for hosts that its certificate covers, or for all, as with secondary certificates.",
    ),
    "predecessor": (
        Predecessor,
        (
            "Timeline: a request waits for its initiator (if it began later than that ended, or none is recorded: for "
            "what began to come last before), or always for what began to come last before."
        ),
    ),
    "parallel_dns": (
        ParallelDns,
        "Timeline: each of several parallel DNS lookups saves its own time, or the shortest of theirs.",
    ),
    "blocked_time": (
        BlockedTime,
        "Timeline: time in the queue behind a handshake that no longer takes place is freed or kept.",
    ),
    "ssl": (
        Ssl,
        "Timeline: the recorder's connect phase contains its TLS phase, as HAR 1.2 has it, or lies before it.",
    ),
}

# What a server is, by the parameter colocation.
_UNKNOWN: dict[Colocation, str] = {
    "asn": "IP addresses in no known AS",
    "org": "IP addresses of no known organisation",
    "edge": "hosts on no known provider's edge",
    "tenant": "hosts of no known tenant of an edge",
    "ip": "requests to no known IP address",
}


def _choices(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add an option for each parameter of the models, with the default of :class:`Parameters`."""
    for name, (values, explained) in reversed(_CHOICES.items()):
        option = click.option(
            f"--{name.replace('_', '-')}",
            type=click.Choice(get_args(values)),
            default=getattr(Parameters(), name),
            show_default=True,
            help=explained,
        )
        command = option(command)
    return command


@click.command(cls=Command)
@_choices
@click.option(
    "--provider-asn",
    "provider_asns",
    type=click.IntRange(1, 2**32 - 1),
    multiple=True,
    metavar="ASN",
    help="Timeline: an AS of the one provider that coalesces; fills provider_ms. Can be repeated.",
)
@click.option(
    "--sensitivity",
    is_flag=True,
    help="Also run the models with one choice changed at a time, and fill the table model_sensitivity.",
)
@click.option(
    "--alternative-ip-to-as",
    "second_table",
    type=FILE,
    help="With --sensitivity: an IP-to-AS table, as for analyze --ip-to-as, to compare with the study's own.",
)
@batch_options
@study_option
@click.pass_obj
def command(
    study: Study,
    /,
    *,
    provider_asns: tuple[int, ...],
    sensitivity: bool,
    second_table: Path | None,
    **others: Any,  # noqa: ANN401 - Parameters and batches_run name them
) -> None:
    """Run the models again with other parameters.

    Fills the model tables and rebuilds study.duckdb. analyze runs the models with the defaults.

    Example: originset --study S study model --colocation ip
    """
    choices = {name: others.pop(name) for name in _CHOICES}
    parameters = Parameters(**choices, provider_asns=tuple(sorted(set(provider_asns))))
    study.manifest()  # an empty folder is a mistake here, not a new study
    if not shard_paths(study, "addresses"):
        raise UsageError(f"study {study.root} has not been analysed yet", "run: originset analyze")
    if second_table is not None and not sensitivity:
        raise UsageError(
            "--alternative-ip-to-as compares two IP-to-AS tables",
            "add --sensitivity, or run: originset analyze --ip-to-as FILE",
        )
    second = None if second_table is None else (second_table.name, _addresses(study, second_table))
    with (
        batches_run(**others) as run_batches,
        study.changing("model", parameters.as_dict()) as counts,
        progress() as display,
    ):
        counts.update(rebuild(study, parameters, run_batches, sensitivity=sensitivity, second=second, display=display))
    note(", ".join(f"{rows} rows in {name}" for name, rows in counts.items()))
    with open_database(study) as database:
        keyless, pages = database.sql("SELECT count_if(without_key > 0), count(*) FROM page_counts").fetchall()[0]
    if keyless:
        note(f"{keyless} of {pages} pages have {_UNKNOWN[parameters.colocation]}; each counts as one of its own")
    note(f"database: {study.database_path}")


def _addresses(study: Study, table: Path) -> pl.DataFrame:
    """The study's addresses by another IP-to-AS table."""
    own = scan(study, "addresses").select("ip").collect()["ip"]
    return address_rows(own, IpToAs.load(table), current_reference().as_names, providers.provider_of_as())
