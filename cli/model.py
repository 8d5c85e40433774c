"""``originset model``: the model tables again, with other parameters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import click
import polars as pl

from originset.analysis.resolution.addresses import address_rows
from originset.cli.files import FILE
from originset.cli.model_batches import batch_options, batches_run
from originset.cli.output import note
from originset.cli.rebuild import rebuild
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
            "What makes two servers one: the AS of their addresses (the paper), its organisation, a provider's edge, "
            "one registrable domain on one edge, or the address."
        ),
    ),
    "wildcards": (Wildcards, "Whether a certificate's wildcard names cover hosts."),
    "coverage": (
        Coverage,
        "A server answers for what its certificate covers, or for all, as with secondary certificates.",
    ),
    "predecessor": (
        Predecessor,
        "Timeline: a request waits for what caused it (by time where not recorded), or always by time.",
    ),
    "parallel_dns": (
        ParallelDns,
        "Timeline: lookups that overlapped save each their own time, or each the shortest of them.",
    ),
    "blocked_time": (
        BlockedTime,
        "Timeline: time spent queueing behind a handshake that no longer happens is freed or kept.",
    ),
    "ssl": (
        Ssl,
        "Timeline: the recorder's connect phase contains its TLS phase, as HAR 1.2 has it, or lies before it.",
    ),
}


def _choices(command: Callable[..., Any]) -> Callable[..., Any]:
    """An option for each of the models' open choices, with the default that :class:`Parameters` has."""
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


@click.command()
@_choices
@click.option(
    "--provider-asn",
    "provider_asns",
    type=click.IntRange(1, 2**32 - 1),
    multiple=True,
    help="Timeline: an AS of the one provider that coalesces (repeat for each); fills provider_ms.",
)
@click.option(
    "--sensitivity",
    is_flag=True,
    help="Also run the models with every other choice, one at a time, for the table model_sensitivity.",
)
@click.option(
    "--ip-to-as",
    "second_table",
    type=FILE,
    help="With --sensitivity: a second IP-to-AS table, as analyze takes them, to compare the study's own with.",
)
@batch_options
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
    """Fill the model tables again with other parameters and rebuild study.duckdb.

    Example: originset --study S model --colocation ip
    """
    choices = {name: others.pop(name) for name in _CHOICES}
    parameters = Parameters(**choices, provider_asns=tuple(sorted(set(provider_asns))))
    study.manifest()  # an empty folder is a mistake here, not a new study
    if not shard_paths(study, "addresses"):
        raise UsageError(f"study {study.root} has not been analysed yet", "run: originset analyze")
    if second_table is not None and not sensitivity:
        raise UsageError("--ip-to-as compares a second table", "add --sensitivity, or give it to: originset analyze")
    second = None if second_table is None else (second_table.name, _addresses(study, second_table))
    with batches_run(**others) as run_batches, study.changing("model", parameters.as_dict()) as counts:
        counts.update(rebuild(study, parameters, run_batches, sensitivity=sensitivity, second=second))
    note(", ".join(f"{rows} rows in {name}" for name, rows in counts.items()))
    with open_database(study) as database:
        keyless, pages = database.sql("SELECT count_if(without_key > 0), count(*) FROM page_counts").fetchall()[0]
    if keyless:
        note(f"{keyless} of {pages} pages have addresses without the {parameters.colocation}: each counts as its own")
    note(f"database: {study.database_path}")


def _addresses(study: Study, table: Path) -> pl.DataFrame:
    """The study's addresses by another IP-to-AS table."""
    own = scan(study, "addresses").select("ip").collect()["ip"]
    return address_rows(own, IpToAs.load(table), current_reference().as_names, providers.provider_of_as())
