"""What a study's recordings leave open about sharing, what nobody can change, and what the counts do not hold."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from originset.queries.report.cause_sentences import ASKABLE
from originset.queries.report.report_advice import ADVISED
from originset.queries.report.shown_text import counted, enumerated, shown, whole

_REDUNDANT = f"""
SELECT round(coalesce(sum(weight) FILTER (cause = 'NOT_DECIDABLE'), 0), 2),
    round(coalesce(sum(weight) FILTER (cause = 'UNKNOWN'), 0), 2),
    round(coalesce(sum(weight) FILTER (fixable_by = 'nobody' AND cause = 'CERT+IP'), 0), 2),
    round(coalesce(sum(weight) FILTER (cause = 'SPECIAL'), 0), 2), round(coalesce(sum(weight) FILTER (in_vain), 0), 2),
    round(coalesce(sum(weight) FILTER (fixable_by IS NULL AND cause NOT IN ('NOT_DECIDABLE', 'UNKNOWN')), 0), 2),
    round(coalesce(sum(weight), 0), 2)
FROM ({ADVISED})
"""  # noqa: S608 - from here

_LACKING = """
SELECT what, round(sum(weight), 2) AS connections FROM (
    SELECT v.weight, unnest(r.needs) AS what FROM redundant_connections AS r
    JOIN counted_visits AS v ON v.visit_id = r.visit_id AND v.question = 'causes'
    WHERE r.cause = 'NOT_DECIDABLE'
) GROUP BY what ORDER BY connections DESC, what
"""

_PAGES = """
SELECT count(DISTINCT (s.site, s.page)),
    count(DISTINCT (s.site, s.page)) FILTER (b.reason = 'without connection ids'),
    count(DISTINCT (s.site, s.page)) FILTER (b.reason = 'with more than 1,000 hosts or connections')
FROM selected_visits AS s JOIN page_basis AS b USING (visit_id)
WHERE b.question = 'causes' AND b.reason IS DISTINCT FROM 'failed'
"""

_NETWORK = "network_requests AS r JOIN selected_visits AS v USING (visit_id)"

_PHASES = f"""
SELECT r.host, count(*) AS phases FROM {_NETWORK}
WHERE r.connect_ms > 0 AND r.secure
    AND r.visit_id IN (SELECT visit_id FROM page_counts WHERE measured_tls IS NULL)
GROUP BY r.visit_id, r.host ORDER BY phases DESC, r.host
"""  # noqa: S608 - from here

# A browser that redirects a name to https by itself (HSTS) reports a 307 that no server sent.
_CLEARTEXT = f"""
SELECT count(*), count(DISTINCT (r.visit_id, r.connection_id)) FILTER (r.connection_id IS NOT NULL),
    count(DISTINCT r.host)
FROM {_NETWORK}
WHERE NOT r.secure
    AND NOT coalesce(r.status = 307 AND r.connection_id IS NULL AND r.server_ip IS NULL, false)
"""  # noqa: S608 - from here

# Of connections that have others beside them on their page.
_UNSEEN = """
SELECT count(*), count(*) FILTER (c.san_count IS NULL AND h.visit_id IS NULL), count(*) FILTER (n.server_ip IS NULL)
FROM connections AS n
JOIN page_counts AS p USING (visit_id)
JOIN selected_visits AS v USING (visit_id)
LEFT JOIN certificates AS c USING (certificate_id)
LEFT JOIN (SELECT DISTINCT visit_id, host FROM live_handshakes WHERE certificate_id IS NOT NULL) AS h
    ON h.visit_id = n.visit_id AND h.host = n.first_host
WHERE p.measured_tls > 1 AND (n.visit_id, n.connection_id) IN (
    SELECT (visit_id, connection_id) FROM network_requests WHERE secure AND connection_id IS NOT NULL
)
"""

# By RFC 9525: the name itself, or one label more than what follows the star.
_UNCOVERED = """
WITH presented AS (
    SELECT DISTINCT n.first_host AS host, n.certificate_id, regexp_replace(n.first_host, '\\.$', '') AS name
    FROM connections AS n JOIN certificates AS c USING (certificate_id)
    WHERE c.san_count IS NOT NULL AND n.used IS DISTINCT FROM false AND n.first_host IS NOT NULL
)
SELECT p.host, list(m.name ORDER BY m.name) FILTER (m.name IS NOT NULL)
FROM presented AS p LEFT JOIN certificate_names AS m USING (certificate_id)
GROUP BY p.host, p.name, p.certificate_id
HAVING NOT coalesce(bool_or(
    m.name = p.name OR (
        m.name = '*' || substr(p.name, instr(p.name, '.'))
        AND instr(p.name, '.') > 1 AND NOT contains(p.name, ':') AND NOT regexp_full_match(p.name, '[0-9.]+')
    )
), false)
ORDER BY p.host
"""


@dataclass(frozen=True, slots=True)
class Undecided:
    """Of ``redundant`` connections those without advice, and what is not among them.

    ``undecidable``: the recording lacks what decides (``lacking``, for how many); ``unknown``: no known rule was
    broken; ``strangers``: under other registrable domains; ``sockets``: WebSockets over HTTP/1.1; ``in_vain``: the plan
    of the site has it that nothing would be saved; ``unattributed``: the obstacle is known, not whose it is.

    Of ``pages``, ``without_connections`` do not tell which request used which connection, and ``crowded`` have too many
    to compare. ``phases``: by host, requests of the former that have a connect phase. ``unseen``: of how many
    connections with others beside them the names of the certificate are not known, and the address. ``cleartext``:
    requests without TLS, their connections and hosts. ``uncovered``: hosts, and the names of the certificate that they
    presented, which does not cover them.
    """

    undecidable: float
    unknown: float
    strangers: float
    sockets: float
    in_vain: float
    unattributed: float
    redundant: float
    lacking: list[tuple[str, float]]
    pages: int
    without_connections: int
    crowded: int
    phases: list[tuple[str, int]]
    unseen: tuple[int, ...]
    cleartext: tuple[int, ...]
    uncovered: list[tuple[str, list[str] | None]]


def undecided(connection: duckdb.DuckDBPyConnection) -> Undecided:
    """What a study's database leaves open."""
    phases = connection.execute(_PHASES).fetchall()
    uncovered = connection.execute(_UNCOVERED).fetchall()
    undecidable, unknown, strangers, sockets, in_vain, unattributed, redundant = map(
        whole, _one(connection, _REDUNDANT)
    )
    pages, without_connections, crowded = _one(connection, _PAGES)
    return Undecided(
        undecidable=undecidable,
        unknown=unknown,
        strangers=strangers,
        sockets=sockets,
        in_vain=in_vain,
        unattributed=unattributed,
        redundant=redundant,
        lacking=[(what, whole(count)) for what, count in connection.execute(_LACKING).fetchall()],
        pages=pages,
        without_connections=without_connections,
        crowded=crowded,
        phases=[(shown(host or "?"), count) for host, count in phases],
        unseen=_one(connection, _UNSEEN),
        cleartext=_one(connection, _CLEARTEXT),
        uncovered=[(shown(host), names and [shown(name) for name in names]) for host, names in uncovered],
    )


def _one(connection: duckdb.DuckDBPyConnection, sql: str) -> tuple[int, ...]:
    (row,) = connection.execute(sql).fetchall()
    return tuple(row)


def found_nothing(found: Undecided) -> list[str]:
    """Why nothing is said of connections that could have been shared, or that there are none, as far as is known."""
    sentences = []
    if found.without_connections:
        told = "The recording does not tell"
        if found.pages > 1:
            told = f"The recordings of {found.without_connections:,} of {found.pages:,} pages do not tell"
        sentences.append(
            f"{told} which connection each request used, so that nothing can be said of "
            f"connections that could have been shared. {_phases(found.phases, one_page=found.pages == 1)}"
        )
    if found.crowded:
        pages = "This page has" if found.pages == 1 else f"{counted(found.crowded, 'page')} have"
        sentences.append(
            f"{pages} more hosts or connections than are compared, so that nothing can be said of connections that "
            "could have been shared."
        )
    if not sentences and not found.redundant:
        sentences.append(f"No connection was found that an earlier one could have served.{_as_far(found.unseen)}")
    return sentences


def not_advised(found: Undecided, *, asked_live: bool) -> list[str]:
    """Of redundant connections that no advice is given about, why; ``asked_live``: enrich has asked for what it can."""
    sentences = []
    if found.undecidable:
        lacking = ", ".join(f"{what} ({count:,})" for what, count in found.lacking)
        offer = ""
        if not asked_live and not ASKABLE.isdisjoint(what for what, _ in found.lacking):
            offer = (
                " DNS answers and certificates can be asked for: explain --live, or study enrich --live for a study."
            )
        of = counted(found.undecidable, "connection")
        sentences.append(f"{of}: the recording does not say why, or what comes first; it lacks {lacking}.{offer}")
    if found.strangers:
        sentences.append(
            f"{counted(found.strangers, 'connection')}: on one network with an earlier one, under other registrable "
            "domains; the recording does not say whether one owner has both."
        )
    if found.in_vain:
        sentences.append(
            f"{counted(found.in_vain, 'connection')}: the page's server could name the host in its certificate and its "
            "ORIGIN frame, but by the site's plan no browser would save a connection, or the name is not to be added."
        )
    if found.sockets:
        sentences.append(f"{counted(found.sockets, 'connection')}: a WebSocket over HTTP/1.1 keeps its own.")
    if found.unattributed:
        sentences.append(
            f"{counted(found.unattributed, 'connection')}: browsers kept them apart for credentials or cookies; the "
            "recording does not say which of the two."
        )
    if found.unknown:
        sentences.append(f"{counted(found.unknown, 'connection')}: no rule that is known here forbade sharing.")
    return sentences


def not_counted(found: Undecided) -> list[str]:
    """Connections that the counts leave out, and hosts whose certificate is not theirs."""
    sentences = []
    requests, connections, hosts = found.cleartext
    if requests:
        what = counted(connections, "connection") if connections else counted(requests, "request")
        sentences.append(
            f"{what} to {counted(hosts, 'host')} carried cleartext HTTP: without TLS no certificate says what else a "
            "connection could serve, so that no count here includes them."
        )
    if found.uncovered:
        hosts_of = enumerated([f"{host} ({_names(names)})" for host, names in found.uncovered], 3)
        sentences.append(
            f"Presented a certificate that does not cover the host: {hosts_of}. A browser refuses that unless it is "
            "told not to, and shares no such connection; whoever serves the host has to present one that covers it."
        )
    return sentences


def _names(names: list[str] | None) -> str:
    return f"it names {enumerated(names, 2)}" if names else "it names nothing"


def _phases(phases: list[tuple[str, int]], *, one_page: bool) -> str:
    if not phases:
        return "Nor does any request have a connect phase."
    total = sum(count for _, count in phases)
    most: dict[str, int] = {}
    for host, count in phases:
        most[host] = max(count, most.get(host, 0))
    several = [f"{host} ({'' if one_page else 'up to '}{count})" for host, count in most.items() if count > 1]
    on = "" if one_page else " on any page"
    repeated = f"of these more than one{on}: {enumerated(several, 5)}" if several else f"no host has more than one{on}"
    opened = f"{counted(total, 'request')} opened a connection, to {counted(len(most), 'host')}"
    return f"By their connect phases, {opened}; {repeated}."


def _as_far(unseen: tuple[int, ...]) -> str:
    connections, names, addresses = unseen
    lacking = [
        f"{what} of {count:,}" for what, count in (("certificate names", names), ("addresses", addresses)) if count
    ]
    if not lacking:
        return ""
    return f" That is as far as the recording tells: it lacks {' and '.join(lacking)} of {connections:,} connections."
