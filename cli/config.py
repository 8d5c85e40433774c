"""``originset config``: a server's ORIGIN configuration for a site or a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import click
import msgspec

from originset.cli.files import write_bytes
from originset.cli.output import note
from originset.cli.site_plan import site_plan
from originset.cli.writers import h2o, node, plain, raw
from originset.cli.writers.capabilities import CAPABILITIES, require_sender
from originset.cli.writers.origin_set import OriginSet, choose, quoted
from originset.data.errors import InputError
from originset.data.study import Study
from originset.models.plan import VERSION, Plan, counted

_WRITERS: dict[str, Callable[[OriginSet], str | bytes]] = {
    "node": node.render,
    "h2o": h2o.render,
    "list": plain.render,
    "raw": raw.frame,
    "raw-h3": raw.payload,
}

# A plan has some 200 bytes a host; nothing honest comes near this.
_MAX_PLAN_BYTES = 64 << 20


@click.command()
@click.option(
    "--server", required=True, type=click.Choice(list(CAPABILITIES), case_sensitive=False), help="The server."
)
@click.option("--site", metavar="HOST", help="Plan for this site of the study.")
@click.option(
    "--plan",
    "plan_path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Take the plan that plan --out wrote.",
)
@click.option(
    "--host", help="The host whose set it is, where several answered for the site; the most visited if not given."
)
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write there, not to stdout."
)
@click.pass_obj
def command(
    study: Study, *, server: str, site: str | None, plan_path: Path | None, host: str | None, out: Path | None
) -> None:
    """Write a server's ORIGIN configuration: what its certificate covers and coalesces safely today.

    node gives an ES module, h2o a property for its YAML, list one origin a line, raw the whole frame for HTTP/2 as
    bytes, raw-h3 the payload that a frame of type 0x0c on an HTTP/3 control stream holds. Servers that cannot send
    ORIGIN frames are refused, with what helps there instead.

    Example: originset --study S config --server node --site www.example.com --out origins.mjs
    """
    require_sender(server)
    if (site is None) == (plan_path is None):
        raise click.UsageError("Give either --site or --plan.")
    made = site_plan(study, site) if site is not None else read_plan(plan_path or Path())
    chosen, refused = choose(made, host)
    content = _WRITERS[server](chosen)
    if out is None:
        click.echo(content, nl=False)
    else:
        write_bytes(out, content.encode() if isinstance(content, str) else content)
    for line in [*refused, *_remarks(made, chosen, asked_for=host)]:
        note(line)


def _remarks(made: Plan, chosen: OriginSet, *, asked_for: str | None) -> list[str]:
    entry = next(entry for entry in made.servers if entry.server == chosen.server)
    lines = [
        f"left out {quoted(left.host)}: {left.detail}" for left in entry.left_out if left.reason == "not_an_origin"
    ]
    reasons = Counter(left.reason for left in entry.left_out)
    if reasons:
        counts = ", ".join(f"{number} {reason}" for reason, number in sorted(reasons.items()))
        lines.append(
            f"of the same AS, {counted(reasons.total(), 'host')} not announced ({counts}); originset plan lists them"
        )
    lines += [f"{chosen.server}: {warning}" for warning in entry.warnings]
    others = [quoted(server.server) for server in made.servers if server.server != chosen.server]
    if others and asked_for is None:
        lines.append(f"this is the set of {chosen.server}; --host gives those of {', '.join(others)}")
    return lines


def read_plan(path: Path) -> Plan:
    """A plan from a file.

    Raises:
        InputError: it cannot be read, or is not a plan of a version that is known here.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_PLAN_BYTES + 1)
    except OSError as error:
        raise InputError(str(path), "unreadable", f"cannot be read ({error.strerror})") from error
    if len(content) > _MAX_PLAN_BYTES:
        raise InputError(str(path), "too-large", "is too large for a plan")
    try:
        made = msgspec.json.decode(content, type=Plan)
    except msgspec.DecodeError as error:
        raise InputError(str(path), "not-a-plan", f"is not a plan ({error})") from error
    if made.version > VERSION:
        raise InputError(
            str(path), "newer-plan", f"is a plan of version {made.version}; use the originset that wrote it"
        )
    return made
