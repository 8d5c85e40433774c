"""``originset study enrich``: DNS answers and certificates that recordings lack, obtained now."""

from __future__ import annotations

from pathlib import Path

import click

from originset.analysis.resolution.live_answers import missing_answers
from originset.cli.common.command_tree import Command, study_option
from originset.cli.common.live import enrich, handshake_problems, live_options, policy, remark, would_contact
from originset.cli.common.output import format_option, note, write_rows
from originset.cli.modelling.analysis import analyze
from originset.data.errors import UsageError
from originset.data.reference.snapshot import current_reference
from originset.data.studies.study import Study


@click.command(cls=Command)
@click.option("--live", is_flag=True, help="Contact a resolver and servers. Without it nothing is contacted.")
@click.option("--dry-run", is_flag=True, help="List what would be contacted, and contact nothing.")
@click.option("--again", is_flag=True, help="Also query hosts that were queried before.")
@live_options
@study_option
@format_option
@click.pass_obj
def command(
    study: Study,
    /,
    *,
    live: bool,
    dry_run: bool,
    again: bool,
    resolver: str,
    rate: float,
    max_time: float,
    ca_file: Path | None,
    allow_private: bool,
    output_format: str,
) -> None:
    """Query DNS and servers for what the recordings lack.

    Obtains DNS answers (A, AAAA, CNAME, HTTPS) and certificates (by TLS handshakes at the recorded IP address and at
    today's), and analyses the study again. Live answers are marked as such, with the time they were obtained; they
    never replace recorded ones. Only public IP addresses are contacted.

    Exit codes: 0 done, 1 there was no time for some hosts; the same command continues with them.

    Example: originset --study S study enrich --dry-run && originset --study S study enrich --live
    """
    study.manifest()
    how = policy(resolver, rate, allow_private=allow_private, ca_file=ca_file)
    if dry_run:
        missing = missing_answers(study, again=again, refused_too=allow_private)
        write_rows(would_contact(missing, how), output_format)
        note(f"{len(missing.hosts)} hosts would be queried; nothing was contacted")
        return
    if not live:
        raise UsageError(
            "study enrich contacts a resolver and the servers of the study", "permit it with --live, or see --dry-run"
        )
    counts = enrich(study, how, max_time, again=again)
    remark(counts, handshake_problems(study))
    analyze(study, current_reference())
    note(f"database: {study.database_path}")
    if counts["unfinished"]:
        click.get_current_context().exit(1)
