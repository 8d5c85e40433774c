"""``originset check lint``: a web server's configuration, before browsers share connections between its hosts."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

import click
import polars as pl

from originset.cli.check.lint_report import LINT_FORMATS, LINTED, change, write_linted
from originset.cli.common.command_tree import Command
from originset.cli.common.files import FILE
from originset.cli.common.output import note
from originset.data.errors import UsageError
from originset.models.origins import parse
from originset.models.plans.origin_plan import Plan
from originset.models.plans.plan_file import read_plan
from originset.models.servers.apache_configuration import read_apache
from originset.models.servers.caddyfile import read_caddyfile
from originset.models.servers.configuration_files import ConfigurationFolder
from originset.models.servers.envoy_configuration import read_envoy
from originset.models.servers.gateway_resources import read_gateway
from originset.models.servers.haproxy.haproxy_configuration import read_haproxy
from originset.models.servers.host_list import read_host_list
from originset.models.servers.listeners import Configuration, best_match
from originset.models.servers.nginx_configuration import read_nginx
from originset.models.servers.shared_connections import NO_PLAN, PlannedSets, shared_connections

_READERS: dict[str, Callable[[Path, ConfigurationFolder], Configuration]] = {
    "nginx": read_nginx,
    "apache": read_apache,
    "haproxy": read_haproxy,
    "caddy": read_caddyfile,
    "envoy": read_envoy,
    "gateway": read_gateway,
    "list": read_host_list,
}

_SAFE, _FAULT, _UNDECIDED = 0, 1, 2
_FAULTS = ("refused", "404", "wrong site", "client certificate bypassed")
_HTTPS = 443
# Each pair is a row.
_MOST_HOSTS = 1000


@click.command(cls=Command)
@click.argument("configuration_path", metavar="CONFIGURATION", type=FILE)
@click.option(
    "--server",
    type=click.Choice(list(_READERS)),
    required=True,
    help="The server whose configuration it is. gateway: Gateways and HTTPRoutes of Kubernetes, and the Secrets or "
    "cert-manager's Certificates that they name, as kubectl get -o yaml has them. list: CSV with the columns host, "
    "address, certificate, upstream and client_certificate, which may be left out.",
)
@click.option(
    "--folder",
    "folders",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    multiple=True,
    metavar="DIR",
    help="Where relative paths start; nothing outside of it is read. Can be repeated: absolute paths and links may "
    "lead to further folders, such as /etc/letsencrypt.  [default: the configuration's]",
)
@click.option(
    "--plan",
    "plan_path",
    type=FILE,
    metavar="FILE",
    help="Check it as it will be once this plan is deployed: a file that plan site --out wrote.",
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(LINT_FORMATS),
    default="table",
    show_default=True,
    help="Format of the rows on stdout; junit: XML for a CI's list of tests; sarif: SARIF 2.1.0; github: annotations "
    "of a GitHub workflow.",
)
@click.pass_context
def command(
    ctx: click.Context,
    *,
    configuration_path: Path,
    server: str,
    folders: tuple[Path, ...],
    plan_path: Path | None,
    output_format: str,
) -> None:
    """Check what a web server does with requests for another host.

    Chromium and Firefox send requests for a host on a connection that was opened for another if its certificate covers
    both and DNS leads both to one address. CONFIGURATION is nginx.conf, httpd.conf, haproxy.cfg, a Caddyfile, Envoy's
    static YAML, resources of Kubernetes' Gateway API, or a list of hosts. Certificates that it names are read below
    --folder; one that is not there may cover any host. DNS is taken to lead each host to where the configuration
    listens. No network is used.

    A row is a host that a connection is opened for, and another that is requested on it. Verdicts: separate (the
    browser opens a connection of its own), safe, 421 (the browser tries again on a connection of its own), refused,
    404, wrong site, client certificate bypassed, unknown. Where a line is not understood it is named, and nothing is
    called safe.

    With --plan certificates have the names that the plan adds, and browsers send requests for all hosts of an ORIGIN
    set, and for those names, on the server's connections, wherever DNS leads.

    Exit codes: 0 no fault found, 1 a fault found, 2 no fault found and something is unknown, or no two
    hosts are named.

    Example: originset check lint nginx.conf --server nginx
    """
    where, *others = folders or (configuration_path.parent,)
    if not configuration_path.resolve().is_relative_to(where.resolve()):
        raise UsageError(f"{configuration_path} is not below {where}", "name a folder that holds it with --folder")
    read = _READERS[server](configuration_path.resolve(), ConfigurationFolder(where, *others))
    hosts = {host for listener in read.listeners for host in listener.hosts}
    if not hosts and not read.not_understood:
        raise UsageError(f"{configuration_path} names no host that is served over TLS", "is --server the right one?")
    if len(hosts) > _MOST_HOSTS:
        raise UsageError(f"{configuration_path} names {len(hosts)} hosts", f"lint no more than {_MOST_HOSTS} at once")
    plan = NO_PLAN if plan_path is None else _planned_sets(read_plan(plan_path), hosts)
    rows = [
        (one.opened_for, one.requested, one.verdict, one.why, change(server, one), one.place.file, str(one.place.line))
        for one in shared_connections(read, plan)
    ]
    missed = [
        (None, None, "not understood", one.text, None, one.place.file, str(one.place.line))
        for one in read.not_understood
    ]
    table = pl.DataFrame(missed + rows, schema=LINTED, orient="row")
    write_linted(table, output_format)
    faults = table.filter(pl.col("verdict").is_in(_FAULTS)).height
    unknown = table.filter(pl.col("verdict").is_in(("unknown", "not understood"))).height
    note(f"{len(rows)} pairs of hosts: {faults} faults, {unknown - len(missed)} unknown; {len(missed)} not understood")
    ctx.exit(_FAULT if faults else _UNDECIDED if unknown or not rows else _SAFE)


def _planned_sets(plan: Plan, hosts: Collection[str]) -> PlannedSets:
    """What a plan deploys to the hosts of a configuration.

    Raises:
        UsageError: the configuration names none of the plan's servers.
    """
    added = frozenset(one.name for one in plan.additions)
    announced = {
        host: {parse(origin)[0] for origin in server.origins if parse(origin)[1] == _HTTPS} | added
        for server in plan.servers
        for host in (server.server, *server.same_server)
    }
    if best := [host for host in announced if best_match(hosts, host) is not None]:
        return PlannedSets(
            {host: announced[host] for host in best}, added, None if plan.names is None else frozenset(plan.names)
        )
    raise UsageError(f"the configuration names no server of the plan of {plan.site}", "is it that of another site?")
