"""``originset import``: HAR files of any recorder into the study."""

from __future__ import annotations

from pathlib import Path

import click

from originset.analysis.importing import ImportSummary, import_hars
from originset.cli.output import note, progress
from originset.data.study import Study

# A folder of a hundred bad files should not hide what the rest came to.
_REFUSALS_SHOWN = 20


@click.command(name="import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.pass_context
def command(ctx: click.Context, files: tuple[Path, ...]) -> None:
    """Import HAR files, and folders of them; plain, gzip, zstd or zip.

    Secrets in addresses are dropped; cookies, headers and bodies are never read. The same file again adds nothing.
    Exits with 1 if a file was refused; the others are imported.

    Example: originset --study S import page.har more-hars/
    """
    study: Study = ctx.obj
    with study.changing("import", {"files": [str(file) for file in files]}) as counts, progress() as display:
        summary = import_hars(study, files, display)
        counts.update(
            files=summary.files,
            imported=summary.imported,
            already=summary.already,
            refused=len(summary.refused),
            visits=summary.visits,
            requests=summary.requests,
        )
    _report(summary)
    ctx.exit(1 if summary.refused else 0)


def _report(summary: ImportSummary) -> None:
    for error in summary.refused[:_REFUSALS_SHOWN]:
        note(f"refused: {error}")
    if len(summary.refused) > _REFUSALS_SHOWN:
        note(f"refused: {len(summary.refused) - _REFUSALS_SHOWN} more; all are in the table rejects")
    note(
        f"{summary.files} files: {summary.imported} imported, {summary.already} were in the study already, "
        f"{len(summary.refused)} refused"
    )
    if summary.same_content:
        note(f"{summary.same_content} of them hold what another file holds; each is a visit of its own")
    if not summary.imported:
        return
    recorders = sorted(summary.recorders.items(), key=lambda item: (-item[1], item[0]))
    note(f"{summary.visits} visits, {summary.requests} requests; " + ", ".join(f"{n} {name}" for name, n in recorders))
    note(
        f"{summary.with_connection_ids} of {summary.imported} files have connection ids (the others' connections are "
        f"not counted), {summary.with_addresses} server addresses, {summary.with_certificate_names} certificate names"
    )
