"""Whether a ring's change did what it was for: traffic during it against before, beside certificates without it.

Totals of groups of different size are never compared: of each group, during against before is one ratio, and the
experiment group's ratio is divided by the control's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from originset.models.plans.inventory.ring_changes import RingChange

#: What a file of traffic may count beside new connections, and of what each is a share.
SHARES = {"errors": "requests", "misdirected": "requests", "handshake_failures": "handshakes"}
COUNTERS = tuple(dict.fromkeys((*SHARES, *SHARES.values())))

#: ``change``: of new connections the ratio of ratios; of the others the difference of differences in percentage points.
COMPARED = pl.Schema(
    {
        "measure": pl.String(),
        "experiment_before": pl.Float64(),
        "experiment_during": pl.Float64(),
        "control_before": pl.Float64(),
        "control_during": pl.Float64(),
        "change": pl.Float64(),
        "low": pl.Float64(),
        "high": pl.Float64(),
        "verdict": pl.String(),
    }
)

#: Connections that each group has at least, before and during (the control), for an interval to be given. With half a
#: connection added to each number (Anscombe 1956), of such few fewer than 5 % of intervals miss the ratio.
LEAST_CONNECTIONS = 10

# Two-sided 95 % of the normal distribution.
_Z = 1.959964
# The change of connections that is to be told from none, for the number of connections that this takes.
_EFFECT = 1.1

# What stands beside the experiment group: the first that had enough connections.
_BESIDE = {
    "own": None,
    "earlier": "in the place of a control of its own: the controls of the rings before",
    "later": "in the place of a control: certificates of the rings to come, which are as they were",
}
_NOTHING_BESIDE = "without a control: during against before, so that whatever else changed counts too"


@dataclass(frozen=True, slots=True)
class RingComparison:
    """``rows``: :data:`COMPARED`. ``instead``: what takes the place of the ring's control; None where it has one.

    ``needed``: connections that each group needs before and during so that a change by 10 % is told from none.
    """

    rows: pl.DataFrame
    instead: str | None
    needed: int

    @property
    def connections(self) -> str:
        """What is found of new connections: fewer, more or undecided."""
        return str(self.rows["verdict"][0])

    @property
    def is_worse(self) -> bool:
        """Whether connections, or some share, are shown to be worse."""
        return self.rows["verdict"].is_in(["more", "worse"]).any()


def compare_ring(
    changes: dict[int, list[RingChange]],
    ring: int,
    before: pl.LazyFrame,
    during: pl.LazyFrame,
    *,
    most_ratio: float = 1.0,
    most_points: float = 0.1,
) -> RingComparison:
    """Compare a ring's traffic to the names that it adds, before and during the change.

    ``before``, ``during``: site, host, connections, and of :data:`COUNTERS` those that are counted; the periods need
    not be equally long. ``most_ratio``: connections are fewer or more than this ratio of ratios, if the whole interval
    is. ``most_points``: a share is worse if the whole interval of its rise is above so many percentage points.
    """
    certificates, hosts = _names_and_hosts(changes, ring)
    periods = [_by_certificate(rows, certificates, hosts) for rows in (before, during)]
    groups = {
        group: pl.concat(
            [
                one.filter(group=group).with_columns(during=pl.lit(value=number == 1))
                for number, one in enumerate(periods)
            ],
            how="diagonal",
        )
        for group in ("experiment", *_BESIDE)
    }
    beside = next(
        (name for name in _BESIDE if _counter_sum(groups[name], "connections", during=False) >= LEAST_CONNECTIONS), None
    )
    experiment, control = groups["experiment"], None if beside is None else groups[beside]
    first, needed = _connections(experiment, control, most_ratio)
    measured = set(before.collect_schema()) & set(during.collect_schema())
    rows = [first]
    for kind, whole in SHARES.items():
        is_measured = {kind, whole} <= measured
        rows.append(_share(experiment, control, kind, most_points) if is_measured else _not_measured(kind))
    instead = _NOTHING_BESIDE if beside is None else _BESIDE[beside]
    return RingComparison(pl.DataFrame(rows, schema=COMPARED, orient="row"), instead, needed)


def _names_and_hosts(changes: dict[int, list[RingChange]], ring: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Names of certificates (name, certificate, group), and the hosts that are to be added (certificate, host)."""
    begun = {one.change.certificate for number in changes if number <= ring for one in changes[number]}
    own = {one.change.certificate for one in changes[ring]}
    names: list[tuple[str, str, str]] = []
    hosts: list[tuple[str, str]] = []

    def add(one: RingChange, group: str) -> None:
        certificate = one.change.certificate
        names.extend((name, certificate, group) for name in one.names)
        hosts.extend((certificate, host) for host in one.change.later or one.change.names)

    for one in changes[ring]:
        add(one, "experiment" if one.change.group == "experiment" else "own")
    for number, of_ring in changes.items():
        for one in of_ring:
            if number < ring and one.change.group == "control" and one.change.certificate not in own:
                add(one, "earlier")
            elif one.change.certificate not in begun:
                add(one, "later")
    columns = ["name", "certificate", "group"]
    certificates = pl.DataFrame(names, schema=dict.fromkeys(columns, pl.String), orient="row")
    added = pl.DataFrame(hosts, schema={"certificate": pl.String, "host": pl.String}, orient="row")
    return certificates.unique("name", keep="first", maintain_order=True), added.unique()


def _by_certificate(traffic: pl.LazyFrame, certificates: pl.DataFrame, hosts: pl.DataFrame) -> pl.DataFrame:
    """group, certificate, connections and the other counters: a row a certificate, of what goes to its hosts."""
    counters = [name for name in traffic.collect_schema().names() if name not in ("site", "host")]
    site, host = (pl.col(name).str.to_lowercase().str.strip_chars_end(".") for name in ("site", "host"))
    known = certificates.lazy()
    wildcards = known.rename({"certificate": "certificate_above", "group": "group_above"})
    rows = (
        traffic.with_columns(site, host)
        .with_columns(above=pl.col("site").str.replace(r"^[^.]*\.", "*."))
        .join(known, left_on="site", right_on="name", how="left")
        .join(wildcards, left_on="above", right_on="name", how="left")
        .with_columns(
            certificate=pl.coalesce("certificate", "certificate_above"), group=pl.coalesce("group", "group_above")
        )
        .join(hosts.lazy(), on=["certificate", "host"])
    )
    return rows.group_by("group", "certificate").agg(pl.col(counters).sum()).collect(engine="streaming")


def _connections(experiment: pl.DataFrame, control: pl.DataFrame | None, most: float) -> tuple[tuple[object, ...], int]:
    """The row of new connections, and how many are needed."""
    counts = [*_counts(experiment, "connections"), *(_counts(control, "connections") if control is not None else ())]
    variance, independent = _log_variance(experiment)
    if control is not None:
        beside = _log_variance(control)
        variance, independent = variance + beside[0], independent + beside[1]
    needed = math.ceil(len(counts) * (_Z / math.log(_EFFECT)) ** 2 * variance / independent)
    shown = [float(count) for count in counts] + [None] * (4 - len(counts))
    # That the change left no connection is what it is for: the experiment's during may be none.
    if min(count for place, count in enumerate(counts) if place != 1) < LEAST_CONNECTIONS:
        return ("new connections", *shown, None, None, None, "undecided"), needed
    ratios = [
        math.log((during + 0.5) / (before + 0.5)) for before, during in zip(counts[::2], counts[1::2], strict=True)
    ]
    log_ratio = ratios[0] - (ratios[1] if control is not None else 0.0)
    spread = _Z * math.sqrt(variance)
    low, high = math.exp(log_ratio - spread), math.exp(log_ratio + spread)
    verdict = "fewer" if high < most else "more" if low > most else "undecided"
    return ("new connections", *shown, math.exp(log_ratio), low, high, verdict), needed


def _log_variance(group: pl.DataFrame) -> tuple[float, float]:
    """Of the logarithm of during against before: the variance, and what it is where connections are independent.

    They are not: those of one certificate come and go together. The variance of a ratio of totals over certificates
    (Cochran 1977, section 6.3) is taken where it is larger.
    """
    before, during = (count + 0.5 for count in _counts(group, "connections"))
    independent = 1 / before + 1 / during
    sums = group.group_by("certificate").agg(
        before=pl.col("connections").filter(~pl.col("during")).sum(),
        during=pl.col("connections").filter(pl.col("during")).sum(),
    )
    if sums.height < 2:
        return independent, independent
    residuals = sums["during"] / during - sums["before"] / before
    of_certificates = float((residuals**2).sum()) * sums.height / (sums.height - 1)
    return max(independent, of_certificates), independent


def _share(experiment: pl.DataFrame, control: pl.DataFrame | None, kind: str, most_points: float) -> tuple[object, ...]:
    """The row of a share, such as errors among requests, in percentage points."""
    shares: list[float | None] = []
    change, variance = 0.0, 0.0
    for sign, group in ((1, experiment), (-1, control)):
        for period_sign, (part, whole) in zip((-1, 1), _part_and_whole(group, kind), strict=True):
            if group is None:
                shares.append(None)
                continue
            if not whole:
                return _not_measured(kind)
            shares.append(100 * part / whole)
            change += sign * period_sign * part / whole
            # Agresti and Coull 1998: two more of each, so that none of few is not taken for certain.
            estimate = (part + 2) / (whole + 4)
            variance += estimate * (1 - estimate) / (whole + 4)
    spread = _Z * math.sqrt(variance)
    low, high = 100 * (change - spread), 100 * (change + spread)
    verdict = "worse" if low > most_points else "not worse" if high <= most_points else "undecided"
    return (kind, *shares, 100 * change, low, high, verdict)


def _not_measured(kind: str) -> tuple[object, ...]:
    return (kind, *[None] * 7, "not measured")


def _part_and_whole(group: pl.DataFrame | None, kind: str) -> Iterator[tuple[int, int]]:
    for during in (False, True):
        yield _counter_sum(group, kind, during=during), _counter_sum(group, SHARES[kind], during=during)


def _counts(group: pl.DataFrame, counter: str) -> tuple[int, int]:
    return _counter_sum(group, counter, during=False), _counter_sum(group, counter, during=True)


def _counter_sum(group: pl.DataFrame | None, counter: str, *, during: bool) -> int:
    if group is None or counter not in group.columns:
        return 0
    return int(group.filter(pl.col("during") == during)[counter].sum() or 0)
