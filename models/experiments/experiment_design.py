"""The design of an experiment with a control group: random sites, their scenario, and predictions by browsers' rules.

As in the paper (section 5), every site uses one shared host. Certificates of the experiment group cover it; those of
the control group have an unused name of the same length. The change is ORIGIN frames with these names, or one address
for all hosts.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from originset.data.scenario.entries import CertificateEntry, HostEntry, ResourceEntry, ScenarioEntries, SiteEntry
from originset.data.schema.study_tables import TABLES, Stage
from originset.models.browsers.tables import TODAY
from originset.models.runner.runner import batch_rows

Floats = np.ndarray[Any, np.dtype[np.float64]]
Mode = Literal["ip", "origin"]
Group = Literal["experiment", "control"]
Kind = Literal["plain", "anonymous", "both"]
GROUPS: tuple[Group, ...] = get_args(Group)

SHARED = "cdn.shared.test"
_UNUSED = f"00{SHARED[2:]}"

#: The share of pages that make requests to the shared host with credentials, without them, or both. In the paper's
#: figure 7b 36 % of the experiment's visits still opened a connection; 9 % of the control's opened two.
MIX: dict[Kind, float] = {"plain": 0.64, "anonymous": 0.27, "both": 0.09}

_SITE_ADDRESS, _SHARED_ADDRESS = "104.16.1.10", "104.17.2.20"
_REPLICATES = 10_000
_TAIL = 2.5

_REQUEST = {"scheme": "https", "port": 443, "protocol": "h2", "status": 200, "from_cache": False}
_CONNECTION = {"port": 443, "protocol": "h2", "tls": True}

BEFORE, DURING, AFTER = PHASES = ("before", "during", "after")

#: The two changes of :func:`predictions` that the experiment is judged by.
AGAINST_CONTROL = "experiment against control, during"
AGAINST_BEFORE = "experiment, during against before"


@dataclass(frozen=True, slots=True)
class Site:
    """A site, by the name of its host."""

    name: str
    group: Group
    kind: Kind


def random_sites(sites: int, seed: int) -> list[Site]:
    """As many sites for each group, with pages drawn from MIX, in the order of their visits.

    The groups alternate, so that both are affected equally by what changes with time.
    """
    rng = random.Random(seed)  # noqa: S311 - pages, not secrets
    groups = [
        [
            Site(f"www.{group[0]}{number:04d}.test", group, kind)
            for number, kind in enumerate(rng.choices(list(MIX), list(MIX.values()), k=sites), 1)
        ]
        for group in GROUPS
    ]
    for group_sites in groups:
        rng.shuffle(group_sites)
    return [site for pair in zip(*groups, strict=True) for site in pair]


def scenario(sites: Sequence[Site], mode: Mode, *, changed: bool) -> ScenarioEntries:
    """The testbed's scenario of these sites, with or without the change.

    The paths of requests to the shared host begin with the name of the page's site.
    """
    shared_address = _SITE_ADDRESS if mode == "ip" and changed else _SHARED_ADDRESS
    certificates = {"shared": CertificateEntry([SHARED])}
    hosts = {SHARED: HostEntry([shared_address], certificate="shared")}
    pages = {}
    for site in sites:
        names = [site.name, SHARED if site.group == "experiment" else _UNUSED]
        origins = [f"https://{name}" for name in names] if mode == "origin" and changed else None
        certificate = site.name.split(".")[1]
        certificates[certificate] = CertificateEntry(names)
        hosts[site.name] = HostEntry([_SITE_ADDRESS], certificate=certificate, origin_set=origins)
        loads = [ResourceEntry(image=f"https://{site.name}/logo.png")]
        if site.kind != "anonymous":
            loads.append(ResourceEntry(script=f"https://{SHARED}/{site.name}/plain.js"))
        if site.kind != "plain":
            loads.append(ResourceEntry(script=f"https://{SHARED}/{site.name}/anonymous.js", crossorigin=True))
        pages[site.name] = SiteEntry(loads=loads)
    return ScenarioEntries(title="experiment", certificate=certificates, host=hosts, site=pages)


def predictions(sites: int, mode: Mode, seed: int) -> pl.DataFrame:
    """Predictions by each browser's rules for an experiment with this many sites in each group.

    Columns browser, what, unit, predicted, low and high: new connections per page to the shared host, by phase and
    group, and the changes in percent (AGAINST_CONTROL, AGAINST_BEFORE). The interval contains 95 % of random samples
    of sites from MIX.
    """
    pages = {changed: _page_connections(mode, changed=changed) for changed in (False, True)}
    rng = np.random.default_rng(seed)
    weights = np.array(list(MIX.values()))
    # The mix itself, then draws from it.
    shares = {group: np.vstack([weights, rng.multinomial(sites, weights, _REPLICATES) / sites]) for group in GROUPS}
    rows = []
    for browser in sorted({browser for browser, _, _ in pages[False]}):
        connections = {}
        for group in GROUPS:
            for phase in PHASES:
                counts = np.array([pages[phase == DURING][browser, group, kind] for kind in MIX])
                least, most = (shares[group] @ counts).T
                connections[phase, group] = least, most
                rows.append((browser, f"{group}, {phase}", "new connections per page", *_interval(least, most)))
        changes = (
            (AGAINST_CONTROL, connections[DURING, "control"]),
            (AGAINST_BEFORE, connections[BEFORE, "experiment"]),
        )
        least, most = connections[DURING, "experiment"]
        for what, (fewest, largest) in changes:
            rows.append((browser, what, "%", *_interval(100 * (least / largest - 1), 100 * (most / fewest - 1))))
    return pl.DataFrame(rows, schema=["browser", "what", "unit", "predicted", "low", "high"], orient="row")


def _interval(least: Floats, most: Floats) -> tuple[float, float, float]:
    ends = np.percentile(least[1:], _TAIL), np.percentile(most[1:], 100 - _TAIL)
    return float(least[0] + most[0]) / 2, float(ends[0]), float(ends[1])


# -- what the rules say ------------------------------------------------------------------------------------------------


def _page_connections(mode: Mode, *, changed: bool) -> dict[tuple[str, Group, Kind], tuple[int, int]]:
    """By browser, group and kind of page: the least and the most connections to the shared host."""
    sites = [Site(f"www.{group}-{kind}.test", group, kind) for group in GROUPS for kind in MIX]
    site_of = {site.name: site for site in sites}
    tables = _recorded_visits(scenario(sites, mode, changed=changed))
    predicted = batch_rows(tables, ["browser_predictions"])["browser_predictions"]
    # A page has one connection to its own host in any case.
    return {
        (row["browser"], site_of[row["visit_id"]].group, site_of[row["visit_id"]].kind): (
            row["tls_low"] - 1,
            row["tls_high"] - 1,
        )
        for row in predicted.filter(pl.col("model") == TODAY).iter_rows(named=True)
    }


def _recorded_visits(scenario: ScenarioEntries) -> dict[str, pl.LazyFrame]:
    """Tables of visits to a scenario's sites, as if recorded by a browser that shares no connection."""
    rows: dict[str, list[dict[str, object]]] = {
        name: [] for name, table in TABLES.items() if table.stage in (Stage.ROWS, Stage.RESOLVED)
    }
    for name, host in scenario.host.items():
        names = scenario.certificate[host.certificate or ""].names
        rows["certificates"].append({"certificate_id": name, "san_count": len(names)})
        rows["certificate_names"] += [{"certificate_id": name, "name": one} for one in names]
        rows["hosts"].append({"host": name, "registrable_domain": name.partition(".")[2]})
    for site, page in scenario.site.items():
        visit: dict[str, object] = {"visit_id": site}
        rows["visits"].append({**visit, "site": site, "third_party_cookies": "allowed"})
        opened: dict[tuple[str, str], int] = {}
        for number, (kind, url, credentials) in enumerate(_requests(site, page)):
            name = url.split("/")[2]
            opened.setdefault((name, credentials), len(opened) + 1)
            request = {"request_id": number, "connection_id": opened[name, credentials], "url": url, "host": name}
            request |= {
                "server_ip": scenario.host[name].addresses[0],
                "resource_type": kind,
                "credentials": credentials,
            }
            # The document arrives first; then all its resources are requested at the same time.
            cause = {"initiator_id": 0, "started_ms": 50.0} if number else {"started_ms": 0.0}
            rows["requests"].append({**visit, **request, **cause, **_REQUEST})
        for (name, _), number in opened.items():
            connection = {"connection_id": number, "first_host": name, "hosts": [name], "certificate_id": name}
            connection |= {"server_ip": scenario.host[name].addresses[0], "origin_set": scenario.host[name].origin_set}
            established = {"established_ms": 10.0 if name == site else 60.0}
            rows["connections"].append({**visit, **connection, **established, **_CONNECTION})
        for name in dict.fromkeys(name for name, _ in opened):
            rows["dns_queries"].append({**visit, "host": name, "rtype": "A", "answers": scenario.host[name].addresses})
    return {name: _frame(name, found) for name, found in rows.items()}


def _requests(site: str, page: SiteEntry) -> Iterator[tuple[str, str, str]]:
    """The resource type, URL and credentials mode of each request of a page."""
    yield "document", f"https://{site}/", "include"
    for resource in page.loads or ():
        kind = "image" if resource.image else "script"
        yield kind, getattr(resource, kind), "omit" if resource.crossorigin else "include"


def _frame(name: str, rows: Sequence[dict[str, object]]) -> pl.LazyFrame:
    return pl.DataFrame(rows, schema=TABLES[name].polars_schema).lazy()
