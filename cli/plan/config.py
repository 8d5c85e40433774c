"""``originset plan config``: a server's ORIGIN configuration for a site or a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import click

from originset.cli.common.command_tree import Command, study_option
from originset.cli.common.files import FILE, out_option, write_bytes
from originset.cli.common.output import note
from originset.cli.common.ring_options import inventory_option, ring_option
from originset.cli.plan.plan_source import chosen_plan, plan_options
from originset.cli.plan.ring_configs import write_ring_configs
from originset.cli.writers import h2o, node, plain, raw
from originset.cli.writers.capabilities import CAPABILITIES, require_sender
from originset.cli.writers.origin_set import OriginSet, choose, quoted
from originset.data.quantity import quantity
from originset.data.studies.study import Study
from originset.models.plans.inventory.ring_changes import ring_changes
from originset.models.plans.origin_plan import Plan

_WRITERS: dict[str, Callable[[OriginSet], str | bytes]] = {
    "node": node.render,
    "h2o": h2o.render,
    "list": plain.render,
    "raw": raw.frame,
    "raw-h3": raw.payload,
}
_ENDINGS = {"node": "mjs", "h2o": "yaml", "list": "txt", "raw": "bin", "raw-h3": "bin"}

_SHOWN_HOSTS = 3


@click.command(cls=Command)
@click.option(
    "--server",
    required=True,
    type=click.Choice(list(CAPABILITIES), case_sensitive=False),
    help="The server that reads the configuration.",
)
@plan_options
@click.option(
    "--host", metavar="HOST", help="Write the ORIGIN set of this host.  [default: the site's most visited host]"
)
@click.option(
    "--rollout",
    type=FILE,
    metavar="FILE",
    help="Instead of a plan: a file that plan inventory --rollout wrote. --out is a new folder then.",
)
@inventory_option
@ring_option
@out_option
@study_option
@click.pass_obj
def command(
    study: Study,
    *,
    server: str,
    site: str | None,
    plan_path: Path | None,
    host: str | None,
    rollout: Path | None,
    inventory: Path | None,
    ring: int | None,
    out: Path | None,
) -> None:
    """Write a server's ORIGIN configuration.

    It announces the origins that the plan marks "announce": those that the server's certificate covers and that
    coalesce safely today. node is an ES module, h2o a property for its YAML file, list one origin per line, raw the
    whole HTTP/2 frame as bytes, raw-h3 the payload of a frame of type 0x0c on an HTTP/3 control stream. For a server
    that cannot send ORIGIN frames nothing is written, and the error says what helps there instead.

    With --rollout, each ring has a folder and each certificate of its experiment group a file, with the hosts that the
    certificate covers by name and those that the ring adds; index.csv lists all certificates.

    Example: originset --study S plan config --server node --site www.example.com --out origins.mjs
    """
    require_sender(server)
    if rollout is not None:
        if inventory is None or out is None or [site, plan_path, host].count(None) < len((site, plan_path, host)):
            raise click.UsageError("--rollout takes --inventory and --out, and no --site, --plan or --host.")
        write_ring_configs(ring_changes(rollout, inventory, ring), _WRITERS[server], _ENDINGS[server], out)
        return
    if inventory is not None or ring is not None:
        raise click.UsageError("--inventory and --ring are for --rollout.")
    made = chosen_plan(study, site, plan_path)
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
            f"of the same AS, {quantity(reasons.total(), 'host')} not announced ({counts}); originset plan site lists "
            f"them"
        )
    lines += [f"{chosen.server}: {warning}" for warning in entry.warnings]
    if also := entry.same_server:
        hosts = ", ".join(quoted(host) for host in also[:_SHOWN_HOSTS]) + (", ..." if len(also) > _SHOWN_HOSTS else "")
        lines.append(
            f"{chosen.server}: connections that are opened for {hosts} serve it too: send the set on those as well"
        )
    others = [quoted(server.server) for server in made.servers if server.server != chosen.server]
    if others and asked_for is None:
        lines.append(f"this is the set of {chosen.server}; --host gives those of {', '.join(others)}")
    return lines
