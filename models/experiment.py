"""An experiment with a control group: sites drawn from a mix, their testbed, and what browsers' rules say beforehand.

As in the paper (section 5): every site uses one shared host; the experiment group's certificates name it, the control's
an unused name of the same length. The change is ORIGIN frames with these names, or one address for all hosts.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from originset.data.schema import TABLES, Stage
from originset.models.browsers.tables import TODAY
from originset.models.runner import batch_rows

Floats = np.ndarray[Any, np.dtype[np.float64]]
Mode = Literal["ip", "origin"]
Group = Literal["experiment", "control"]
Kind = Literal["plain", "anonymous", "both"]
GROUPS: tuple[Group, ...] = get_args(Group)

SHARED = "cdn.shared.test"
_UNUSED = f"00{SHARED[2:]}"

#: Of pages, how many ask the shared host with credentials, without, or with and without. That 36 % do without is what
#: still opened a connection in the paper's figure 7b with everything in place; of the control's, 9 % opened two.
MIX: dict[Kind, float] = {"plain": 0.64, "anonymous": 0.27, "both": 0.09}

_SITE_ADDRESS, _SHARED_ADDRESS = "104.16.1.10", "104.17.2.20"
_REPLICATES = 10_000
_TAIL = 2.5

BEFORE, DURING, AFTER = PHASES = ("before", "during", "after")

#: Of the frame of :func:`predictions`: the two changes that the experiment is judged by.
AGAINST_CONTROL = "experiment against control, during"
AGAINST_BEFORE = "experiment, during against before"


@dataclass(frozen=True, slots=True)
class Site:
    """A site, by the name of its host."""

    name: str
    group: Group
    kind: Kind


def drawn(sites: int, seed: int) -> list[Site]:
    """So many sites a group, each group's pages drawn from MIX, in the order in which they are to be visited.

    A site of one group follows one of the other, so that whatever changes with time meets both alike.
    """
    rng = random.Random(seed)  # noqa: S311 - pages, not secrets
    groups = [
        [
            Site(f"www.{group[0]}{number:04d}.test", group, kind)
            for number, kind in enumerate(rng.choices(list(MIX), list(MIX.values()), k=sites), 1)
        ]
        for group in GROUPS
    ]
    for each in groups:
        rng.shuffle(each)
    return [site for pair in zip(*groups, strict=True) for site in pair]


def scenario(sites: Sequence[Site], mode: Mode, *, changed: bool) -> str:
    """The testbed's scenario of these sites, ``changed`` or as it is without the change."""
    return "\n".join(_lines(sites, mode, changed=changed)) + "\n"


def predictions(sites: int, mode: Mode, seed: int) -> pl.DataFrame:
    """What each browser's rules say of an experiment of so many sites a group, whichever are drawn.

    Columns browser, what, unit, predicted, low and high: new connections per page to the shared host, by phase and
    group, and the changes in percent (AGAINST_CONTROL, AGAINST_BEFORE). The interval holds 95 % of the draws from MIX.
    """
    pages = {changed: _page_connections(mode, changed=changed) for changed in (False, True)}
    rng = np.random.default_rng(seed)
    weights = np.array(list(MIX.values()))
    # The mix itself, then draws from it.
    shares = {group: np.vstack([weights, rng.multinomial(sites, weights, _REPLICATES) / sites]) for group in GROUPS}
    rows = []
    for browser in sorted({browser for browser, _, _ in pages[False]}):
        found = {}
        for group in GROUPS:
            for phase in PHASES:
                counts = np.array([pages[phase == DURING][browser, group, kind] for kind in MIX])
                least, most = (shares[group] @ counts).T
                found[phase, group] = least, most
                rows.append((browser, f"{group}, {phase}", "new connections per page", *_interval(least, most)))
        changes = ((AGAINST_CONTROL, found[DURING, "control"]), (AGAINST_BEFORE, found[BEFORE, "experiment"]))
        least, most = found[DURING, "experiment"]
        for what, (fewest, largest) in changes:
            rows.append((browser, what, "%", *_interval(100 * (least / largest - 1), 100 * (most / fewest - 1))))
    return pl.DataFrame(rows, schema=["browser", "what", "unit", "predicted", "low", "high"], orient="row")


def _interval(least: Floats, most: Floats) -> tuple[float, float, float]:
    ends = np.percentile(least[1:], _TAIL), np.percentile(most[1:], 100 - _TAIL)
    return float(least[0] + most[0]) / 2, float(ends[0]), float(ends[1])


# -- the testbed -------------------------------------------------------------------------------------------------------


def _announced(group: Group) -> str:
    return SHARED if group == "experiment" else _UNUSED


def _addresses(mode: Mode, *, changed: bool) -> dict[str, str]:
    together = mode == "ip" and changed
    return {"site": _SITE_ADDRESS, "shared": _SITE_ADDRESS if together else _SHARED_ADDRESS}


def _loads(site: Site) -> Iterator[tuple[str, bool]]:
    """The paths that a page asks the shared host for, and whether without credentials; each names its site."""
    if site.kind != "anonymous":
        yield f"/{site.name}/plain.js", False
    if site.kind != "plain":
        yield f"/{site.name}/anonymous.js", True


def _lines(sites: Sequence[Site], mode: Mode, *, changed: bool) -> Iterator[str]:
    address = _addresses(mode, changed=changed)
    yield 'title = "experiment"'
    yield f"[certificate.shared]\nnames = {json.dumps([SHARED])}"
    yield f'[host."{SHARED}"]\naddresses = ["{address["shared"]}"]\ncertificate = "shared"'
    for site in sites:
        names = [site.name, _announced(site.group)]
        key = site.name.split(".")[1]
        yield f"[certificate.{key}]\nnames = {json.dumps(names)}"
        yield f'[host."{site.name}"]\naddresses = ["{address["site"]}"]\ncertificate = "{key}"'
        if mode == "origin" and changed:
            yield f"origin_set = {json.dumps([f'https://{name}' for name in names])}"
        loads = [f'{{ image = "https://{site.name}/logo.png" }}']
        for path, anonymous in _loads(site):
            loads.append(f'{{ script = "https://{SHARED}{path}"{", crossorigin = true" if anonymous else ""} }}')
        yield f'[site."{site.name}"]\nloads = [{", ".join(loads)}]'


# -- what the rules say ------------------------------------------------------------------------------------------------


def _page_connections(mode: Mode, *, changed: bool) -> dict[tuple[str, Group, Kind], tuple[int, int]]:
    """By browser, group and kind of page: the least and the most connections to the shared host."""
    sites = [Site(f"www.{group}-{kind}.test", group, kind) for group in GROUPS for kind in MIX]
    of = {site.name: site for site in sites}
    said = batch_rows(_tables(sites, mode, changed=changed), ["browser_predictions"])["browser_predictions"]
    # A page has one connection to its own host in any case.
    return {
        (row["browser"], of[row["visit_id"]].group, of[row["visit_id"]].kind): (row["tls_low"] - 1, row["tls_high"] - 1)
        for row in said.filter(pl.col("model") == TODAY).iter_rows(named=True)
    }


def _tables(sites: Sequence[Site], mode: Mode, *, changed: bool) -> dict[str, pl.LazyFrame]:
    """Visits of these sites as a recorder writes them down, every connection of its own."""
    rows: dict[str, list[dict[str, object]]] = {
        name: [] for name, table in TABLES.items() if table.stage in (Stage.ROWS, Stage.RESOLVED)
    }
    address = _addresses(mode, changed=changed)
    for site in sites:
        frame = [f"https://{name}" for name in (site.name, _announced(site.group))]
        sent = frame if mode == "origin" and changed else None
        rows["visits"].append({"visit_id": site.name, "site": site.name, "third_party_cookies": "allowed"})
        asked = [(site.name, "/", "include", "document"), (site.name, "/logo.png", "include", "image")]
        asked += [(SHARED, path, "omit" if anonymous else "include", "script") for path, anonymous in _loads(site)]
        opened: dict[tuple[str, str], int] = {}
        for number, (host, path, credentials, kind) in enumerate(asked):
            ip = address["site" if host == site.name else "shared"]
            connection = opened.setdefault((host, credentials), len(opened) + 1)
            request = {"url": f"https://{host}{path}", "scheme": "https", "port": 443, "method": "GET", "status": 200}
            request |= {"protocol": "h2", "server_ip": ip, "frame_site": site.name.removeprefix("www.")}
            request |= {"resource_type": kind, "initiator_id": 0 if number else None, "from_cache": False}
            # The document has come before what it asks for, all of that at one moment.
            times = dict.fromkeys(("blocked_ms", "dns_ms", "send_ms", "receive_ms"), 0.0)
            times |= {"started_ms": 50.0 if number else 0.0, "connect_ms": 10.0, "wait_ms": 10.0}
            rows["requests"].append(
                {
                    "visit_id": site.name,
                    "request_id": number,
                    "host": host,
                    "credentials": credentials,
                    "connection_id": connection,
                    **request,
                    **times,
                }
            )
        for (host, _), number in opened.items():
            own = host == site.name
            rows["connections"].append(
                {
                    "visit_id": site.name,
                    "connection_id": number,
                    "first_host": host,
                    "hosts": [host],
                    "server_ip": address["site" if own else "shared"],
                    "port": 443,
                    "protocol": "h2",
                    "tls": True,
                    "tls_version": "TLS 1.3",
                    "certificate_id": host,
                    "established_ms": 10.0 if own else 60.0,
                    "origin_set": sent if own else None,
                    "origin_ms": 10.0 if own and sent else None,
                }
            )
        for host in (site.name, SHARED):
            rows["dns_queries"].append(
                {
                    "visit_id": site.name,
                    "host": host,
                    "rtype": "A",
                    "answers": [address["site" if host == site.name else "shared"]],
                    "source": "browser",
                    "asked_ms": 0.0 if host == site.name else 50.0,
                    "took_ms": 0.0,
                }
            )
        rows["certificate_names"] += [{"certificate_id": site.name, "name": site.name}]
        rows["certificate_names"] += [{"certificate_id": site.name, "name": _announced(site.group)}]
        rows["certificates"].append({"certificate_id": site.name, "san_count": 2})
        rows["hosts"].append({"host": site.name, "registrable_domain": site.name.removeprefix("www.")})
    rows["certificate_names"].append({"certificate_id": SHARED, "name": SHARED})
    rows["certificates"].append({"certificate_id": SHARED, "san_count": 1})
    rows["hosts"].append({"host": SHARED, "registrable_domain": "shared.test"})
    return {name: _frame(name, found) for name, found in rows.items()}


def _frame(name: str, rows: Sequence[dict[str, object]]) -> pl.LazyFrame:
    schema = TABLES[name].polars_schema
    return pl.DataFrame([{column: row.get(column) for column in schema} for row in rows], schema=schema).lazy()
