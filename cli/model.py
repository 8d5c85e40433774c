"""``originset model``: the model tables again, with other parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import click
import polars as pl

from originset.analysis.addresses import address_rows
from originset.cli.output import note
from originset.cli.rebuild import rebuild
from originset.data.errors import UsageError
from originset.data.reference import providers
from originset.data.reference.ip_to_as import IpToAs
from originset.data.reference.snapshot import current
from originset.data.shards import scan, shard_paths
from originset.data.study import Study
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


@click.command()
@click.option(
    "--colocation",
    type=click.Choice(get_args(Colocation)),
    default="asn",
    show_default=True,
    help="What makes two addresses one server: the same AS, as in the paper, or only the same address.",
)
@click.option(
    "--wildcards",
    type=click.Choice(get_args(Wildcards)),
    default="cover",
    show_default=True,
    help="Whether a certificate's wildcard names cover hosts.",
)
@click.option(
    "--coverage",
    type=click.Choice(get_args(Coverage)),
    default="certificate",
    show_default=True,
    help="A server answers for what its certificate covers, or for all, as with secondary certificates.",
)
@click.option(
    "--predecessor",
    type=click.Choice(get_args(Predecessor)),
    default="initiator",
    show_default=True,
    help="Timeline: a request waits for what caused it (by time where not recorded), or always by time.",
)
@click.option(
    "--parallel-dns",
    type=click.Choice(get_args(ParallelDns)),
    default="own",
    show_default=True,
    help="Timeline: lookups that overlapped save each their own time, or each the shortest of them.",
)
@click.option(
    "--blocked-time",
    type=click.Choice(get_args(BlockedTime)),
    default="freed",
    show_default=True,
    help="Timeline: time spent queueing behind a handshake that no longer happens is freed or kept.",
)
@click.option(
    "--ssl",
    type=click.Choice(get_args(Ssl)),
    default="inside",
    show_default=True,
    help="Timeline: the recorder's connect phase contains its TLS phase, as HAR 1.2 has it, or lies before it.",
)
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
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="With --sensitivity: a second IP-to-AS table, as analyze takes them, to compare the study's own with.",
)
@click.pass_obj
def command(
    study: Study,
    /,
    *,
    provider_asns: tuple[int, ...],
    sensitivity: bool,
    second_table: Path | None,
    **choices: Any,  # noqa: ANN401 - Parameters names them
) -> None:
    """Fill the model tables again with other parameters and rebuild study.duckdb.

    Example: originset --study S model --colocation ip
    """
    parameters = Parameters(**choices, provider_asns=tuple(sorted(set(provider_asns))))
    study.manifest()  # an empty folder is a mistake here, not a new study
    if not shard_paths(study, "addresses"):
        raise UsageError(f"study {study.root} has not been analysed yet", "run: originset analyze")
    if second_table is not None and not sensitivity:
        raise UsageError("--ip-to-as compares a second table", "add --sensitivity, or give it to: originset analyze")
    second = None if second_table is None else (second_table.name, _addresses(study, second_table))
    with study.changing("model", parameters.as_dict()) as counts:
        counts.update(rebuild(study, parameters, sensitivity=sensitivity, second=second))
    note(", ".join(f"{rows} rows in {name}" for name, rows in counts.items()))
    note(f"database: {study.database_path}")


def _addresses(study: Study, table: Path) -> pl.DataFrame:
    """The study's addresses by another IP-to-AS table."""
    own = scan(study, "addresses").select("ip").collect()["ip"]
    return address_rows(own, IpToAs.load(table), current().as_names, providers.provider_of_as())
