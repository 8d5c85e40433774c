"""A plan deployed and loaded, against what the rules predicted of it and what the study says today."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from originset.models.origins import NotAnOriginError, parse
from originset.models.plans.origin_plan import Addition, Plan, Server

#: Of a load, how many connections carried each host, by the host that they were opened for.
Served = Mapping[str, Mapping[str, int]]

VERIFIED = pl.Schema(
    {
        "page": pl.String(),
        "browser": pl.String(),
        "host": pl.String(),
        "predicted": pl.String(),
        "observed": pl.String(),
        "agrees": pl.Boolean(),
    }
)
_Verified = tuple[str | None, str, str, str, str, bool]

_NOT_ASKED = "not asked for"


def verified(page: str, predicted: pl.DataFrame, loads: Sequence[Served]) -> pl.DataFrame:
    """One row per host, as VERIFIED: by which connections it was to be served, and was in most of ``loads``.

    ``predicted``: of ``hosts`` of :class:`originset.models.plans.planned_connections.PlannedConnections`, the rows of
    one visit, browser and model. A host agrees if as many connections were opened for it as predicted, and, where that
    is certain, its requests went over the connections of exactly the hosts that were predicted. How many a host over
    HTTP/1.1 has hangs on the moments at which it is asked, which no plan changes: there only whose they are counts.
    """
    browser = predicted["browser"].first()
    rows: list[_Verified] = []
    expected = {row["host"]: row for row in predicted.sort("host").iter_rows(named=True)}
    for host in sorted({*expected, *(name for load in loads for name in load)}):
        said = expected.get(host)
        (seen, _), *_ = Counter(tuple(sorted(load.get(host, {}).items())) for load in loads).most_common()
        if said is not None or seen:
            rows.append(
                (
                    page,
                    str(browser),
                    host,
                    _said(said),
                    _connections_text(host, dict(seen)),
                    _agrees_with_log(said, dict(seen)),
                )
            )
    return pl.DataFrame(rows, schema=VERIFIED, orient="row")


def against_study(plan: Plan, origin_sets: pl.DataFrame, additions: pl.DataFrame) -> pl.DataFrame:
    """What the plan says that the study does not, as VERIFIED with ``page`` NULL; without rows if there is nothing.

    ``origin_sets`` and ``additions`` (rows of certificate_additions): those of the plan's site.
    """
    beside = {(row["server"], row["host"], row["port"]): row for row in origin_sets.iter_rows(named=True)}
    lacking = {row["name"]: row for row in additions.iter_rows(named=True)}
    added = {addition.name for addition in plan.additions if addition.same_owner}
    rows: list[_Verified] = []
    for server in plan.servers:
        rows += _announced_differences(server, beside, added)
    for addition in plan.additions:
        rows += _addition_differences(addition, lacking.get(addition.name))
    return pl.DataFrame(rows, schema=VERIFIED, orient="row")


def _announced_differences(
    server: Server, beside: Mapping[tuple[str, str, int], dict[str, Any]], added: Iterable[str]
) -> Iterator[_Verified]:
    total: int | None = 0
    for entry in server.announce:
        host, port = _place(entry.origin)
        row = beside.get((server.server, host, port))
        if row is None:
            total = None
            yield None, "firefox", host, f"announced by {server.server}", "not in the study beside it", False
            continue
        if row["covered_by_certificate"] is False and host not in added:
            yield None, "firefox", host, f"announced by {server.server}", "its certificate does not cover it", False
        saved = row["connections_saved_firefox"]
        total = None if None in (total, saved) else (total or 0) + saved
        yield from _saving_difference("firefox", host, entry.connections_saved_firefox, saved)
    if total is not None:
        yield from _saving_difference(
            "firefox", server.server, server.connections_saved_firefox, total, "what it announces "
        )


def _place(origin: str) -> tuple[str, int]:
    """Its host and port; of what is no origin, itself, which no study has."""
    try:
        return parse(origin)
    except NotAnOriginError:
        return origin, 0


def _addition_differences(addition: Addition, row: dict[str, Any] | None) -> Iterator[_Verified]:
    if row is None:
        yield None, "any", addition.name, "missing from the certificate", "not missing, by the study", False
        return
    for browser in ("chromium", "chromium_h3", "firefox"):
        name = f"connections_saved_{browser}"
        yield from _saving_difference(browser, addition.name, getattr(addition, name), row[name])


def _saving_difference(
    browser: str, host: str, said: int | None, known: int | None, what: str = ""
) -> Iterator[_Verified]:
    if said != known:
        plan, study = ("not known" if number is None else str(number) for number in (said, known))
        yield None, browser, host, f"{what}saves {plan}, by the plan", f"{what}saves {study}, by the study", False


def _agrees_with_log(said: Mapping[str, Any] | None, seen: Mapping[str, int]) -> bool:
    if said is None or not seen:
        return False
    own = seen.get(said["host"], 0)
    certain = said["served_by"] is None or set(said["served_by"]) == set(seen)
    return certain and (said["http1"] or bool(said["tls_low"] <= own <= said["tls_high"]))


def _said(said: Mapping[str, Any] | None) -> str:
    if said is None:
        return _NOT_ASKED
    low, high = said["tls_low"], said["tls_high"]
    own = "over HTTP/1.1" if said["http1"] else str(low) if low == high else f"{low} to {high}"
    if said["served_by"] is None:
        return f"{own} of its own; not certain whose else"
    return _listed(said["host"], {name: own if name == said["host"] else "" for name in said["served_by"]})


def _connections_text(host: str, seen: Mapping[str, int]) -> str:
    return _listed(host, {name: str(number) for name, number in seen.items()}) if seen else _NOT_ASKED


def _listed(host: str, numbers: Mapping[str, str]) -> str:
    """Own connections first; of how many is said where it is not one."""
    parts = []
    for name in sorted(numbers, key=lambda name: (name != host, name)):
        several = f" ({numbers[name]})" if numbers[name] not in ("", "1") else ""
        parts.append(f"{'its own' if name == host else f'that of {name}'}{several}")
    return ", ".join(parts)
