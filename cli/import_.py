"""``originset import``: HAR files of any recorder, and HTTP Archive's exports, into the study."""

from __future__ import annotations

import os
from pathlib import Path

import click

from originset.analysis.importing.import_batch import FileLimits, ImportSettings, ImportSummary
from originset.analysis.importing.import_run import import_hars
from originset.analysis.importing.verification import verify_import
from originset.cli.common.command_tree import Command, study_option
from originset.cli.common.output import byte_progress, note
from originset.data.sanitising.printable import path_text
from originset.data.studies.study import Study

# Messages of one kind that are listed: a hundred bad files should not hide the summary.
_SHOWN = 20

_MEANING = {
    "no_connection_ids": "no connection ids: connections are not counted",
    "no_addresses": "no server addresses: it is not known which hosts share a server",
    "no_times": "entries without times",
    "warm_sockets": "DNS lookups are not counted: some connections were already open (preconnected or reused)",
    "warm_start": "recorded with connections that were open before the page: savings are not computed",
    "preserved_log": "several pages in one log: savings are not computed for the later ones",
    "cached": "some answers came from the cache",
    "cached_hosts": "hosts answered from the cache alone: savings are not computed",
    "service_worker": "some answers came from a service worker",
    "proxied": "one address for all hosts, a proxy's: savings are not computed",
    "truncated": "cut off: savings are not computed",
    "partial": "a part of the page is missing: savings are not computed",
}


@click.command(name="import", cls=Command)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--verify", "verifying", is_flag=True, help="Read each file again with haralyzer and list the differences."
)
@click.option("--keep-secrets", is_flag=True, help="Keep URLs as they are, with the secrets in them.")
@click.option(
    "--keep-files",
    is_flag=True,
    help="Keep a copy of each HAR in the study, without secrets unless --keep-secrets is given.",
)
@click.option(
    "--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, show_default="cores", help="Number of processes."
)
@study_option
@click.pass_context
def command(
    ctx: click.Context,
    files: tuple[Path, ...],
    *,
    verifying: bool,
    keep_secrets: bool,
    keep_files: bool,
    jobs: int,
) -> None:
    """Import HAR and NetLog files into a study.

    FILES are HAR files, and NetLogs of chrome://net-export or Chromium's --log-net-log (plain, gzip, zstd or zip),
    folders, patterns, or - for stdin. Each page load in a NetLog is a visit; a HAR and a NetLog of one load are one.
    Rows of HTTP Archive's tables crawl.requests and crawl.pages are read too, from JSON lines or Parquet: name all
    files of an export at once.

    Secrets in URLs are removed; cookies, headers and bodies are never read. Importing a file again adds nothing; a
    complete file replaces one that was cut off.

    Exit codes: 0 all files were imported, 1 a file was refused or cut off, none is a recording, or --verify found a
    difference; all others are imported.

    Example: originset --study S import page.har more-hars/ 'runs/*/page.har.gz'
    """
    study: Study = ctx.obj
    settings = ImportSettings(keep_secrets=keep_secrets, keep_files=keep_files)
    parameters = {"files": [path_text(file) for file in files], "keep_secrets": keep_secrets, "keep_files": keep_files}
    with study.changing("import", parameters) as counts, byte_progress() as display:
        summary = import_hars(study, files, display, settings, jobs)
        counts.update(
            files=summary.files,
            imported=summary.imported,
            already=summary.already,
            refused=len(summary.refused),
            cut_off=len(summary.cut_off),
            visits=summary.visits,
            requests=summary.requests,
        )
    _report(summary)
    differs = verifying and _verify(study, files)
    nothing = not summary.files and not summary.pages_without_requests
    ctx.exit(1 if nothing or summary.refused or summary.cut_off or summary.lost or differs else 0)


def _report(summary: ImportSummary) -> None:
    if summary.lost:
        what = f"{len(summary.lost)} files whose rows were in damaged shards must be imported again"
        note(f"{what}: {', '.join(summary.lost[:3])}{', ...' if len(summary.lost) > 3 else ''}")
    _note_lines([f"refused: {error}" for error in summary.refused], "refused", "all are in the table rejects")
    _note_lines([f"cut off: {error}" for error in summary.cut_off], "cut off", "all are in the table rejects")
    note(
        f"{summary.files} files: {summary.imported} imported, {summary.already} were in the study already, "
        f"{len(summary.refused)} refused"
    )
    if not summary.files and not summary.pages_without_requests:
        note("nothing was imported: none of the files is a HAR, or has rows of HTTP Archive's tables")
    if summary.same_content:
        note(f"{summary.same_content} of them have the same content as another file; each is a visit of its own")
    if summary.pages_without_requests:
        note(
            f"{summary.pages_without_requests} pages of HTTP Archive were left out, because they have no requests here"
        )
    if summary.joined:
        note(f"{summary.joined} page loads are in a HAR and in a NetLog; each is one visit")
    if not summary.imported:
        return
    recorders = sorted(summary.recorders.items(), key=lambda item: (-item[1], item[0]))
    note(f"{summary.visits} visits, {summary.requests} requests; " + ", ".join(f"{n} {name}" for name, n in recorders))
    if len(summary.limits) <= _SHOWN:
        _report_each(summary.limits)
    else:
        _report_together(summary.limits)


def _report_each(limits: list[FileLimits]) -> None:
    for file in limits:
        limits_of_file = [_MEANING[word] for word in _MEANING if word in file.quality]
        if file.inferred:
            limits_of_file.append("connections are inferred, from WebPageTest's sockets")
        if limits_of_file:
            note(f"{file.source} ({file.recorder}): {'; '.join(limits_of_file)}")


def _report_together(limits: list[FileLimits]) -> None:
    for word, meaning in _MEANING.items():
        if count := sum(word in file.quality for file in limits):
            note(f"{count} of {len(limits)} files: {meaning}")
    if count := sum(file.inferred for file in limits):
        note(f"{count} of {len(limits)} files: connections are inferred, from WebPageTest's sockets")


def _verify(study: Study, files: tuple[Path, ...]) -> bool:
    with byte_progress() as display:
        result = verify_import(study, files, display)
    _note_lines([f"differs: {line}" for line in result.differences], "differences", "correct one of the two")
    _note_lines(
        [f"haralyzer fails: {line}" for line in result.failures], "kinds of failure", "they are failures of haralyzer"
    )
    note(
        f"haralyzer read {result.files} files, {result.pages} pages and {result.entries} entries; "
        f"{len(result.differences)} differences from what was imported"
    )
    return bool(result.differences)


def _note_lines(lines: list[str], what: str, where: str) -> None:
    for line in lines[:_SHOWN]:
        note(line)
    if len(lines) > _SHOWN:
        note(f"{len(lines) - _SHOWN} more {what}; {where}")
