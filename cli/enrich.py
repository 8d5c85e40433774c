"""``originset enrich``: what recordings lack, asked for now."""

from __future__ import annotations

import click

from originset.analysis.resolution.live_answers import missing_answers
from originset.cli.analyze import analyze
from originset.cli.live import enrich, live_options, policy, remark, would_contact
from originset.cli.output import format_option, note, write_rows
from originset.data.errors import UsageError
from originset.data.reference.snapshot import current_reference
from originset.data.studies.study import Study


@click.command()
@click.option("--live", is_flag=True, help="Contact a resolver and the study's servers; without it nothing is done.")
@click.option("--dry-run", is_flag=True, help="List what would be contacted, and contact nothing.")
@click.option("--again", is_flag=True, help="Ask for what was asked for before, too.")
@live_options
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
    live_timeout: float,
    allow_private: bool,
    output_format: str,
) -> None:
    """Ask for the DNS answers and certificates that a study's recordings lack: A, AAAA, CNAME, HTTPS, a TLS handshake.

    Handshakes are made at the recorded address and at today's. What comes is marked as live, with its age; the
    recording's own is never replaced. Only public addresses are contacted. The study is then analysed again. Exit code
    1 if there was no time for some hosts: the same command goes on with them.

    Example: originset --study S enrich --dry-run && originset --study S enrich --live
    """
    study.manifest()
    how = policy(resolver, rate, allow_private=allow_private)
    if dry_run:
        wanted = missing_answers(study, again=again, refused_too=allow_private)
        write_rows(would_contact(wanted, how), output_format)
        note(f"{len(wanted.hosts)} hosts would be asked for; nothing was contacted")
        return
    if not live:
        raise UsageError("enrich contacts a resolver and the servers of the study", "say --live, or --dry-run to see")
    counts = enrich(study, how, live_timeout, again=again)
    remark(counts)
    analyze(study, current_reference())
    note(f"database: {study.database_path}")
    if counts["unfinished"]:
        click.get_current_context().exit(1)
