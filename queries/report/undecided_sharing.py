"""Redundant connections without advice, and why; connections that the counts do not include."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from originset.data.quantity import quantity
from originset.queries.report.cause_sentences import OBTAINABLE_LIVE
from originset.queries.report.printable_text import enumerated, printable_excerpt, without_fraction
from originset.queries.report.report_advice import ADVISED

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

# Of the connections of pages with several connections.
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

# RFC 9525: a name covers itself; a wildcard covers what has one label in place of the star.
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
    """The ``redundant`` connections without advice, by reason, and connections that are not counted.

    Redundant connections: ``undecidable``: the recording lacks what decides the cause (``lacking``: what, and for how
    many); ``unknown``: no known rule forbade the reuse; ``other_owners``: the hosts have other registrable domains;
    ``sockets``: WebSockets over HTTP/1.1; ``in_vain``: by the site's plan the fix saves nothing, or is not to be made;
    ``unattributed``: the cause is known, but not who can remove it.

    Pages: of ``pages``, ``without_connections`` have no connection ids, and ``oversized`` have too many hosts or
    connections. ``phases``: hosts of pages without connection ids, and how many requests to them have a connect phase.
    ``unseen``: of pages with several connections, how many connections there are, of how many the certificate's names
    are not known, and of how many the address. ``cleartext``: requests without TLS, their connections and hosts.
    ``uncovered``: hosts whose certificate does not cover them, and the names of that certificate.
    """

    undecidable: float
    unknown: float
    other_owners: float
    sockets: float
    in_vain: float
    unattributed: float
    redundant: float
    lacking: list[tuple[str, float]]
    pages: int
    without_connections: int
    oversized: int
    phases: list[tuple[str, int]]
    unseen: tuple[int, ...]
    cleartext: tuple[int, ...]
    uncovered: list[tuple[str, list[str] | None]]


def undecided(connection: duckdb.DuckDBPyConnection) -> Undecided:
    """Read all of this from a study's database."""
    phases = connection.execute(_PHASES).fetchall()
    uncovered = connection.execute(_UNCOVERED).fetchall()
    undecidable, unknown, other_owners, sockets, in_vain, unattributed, redundant = map(
        without_fraction, _single_row(connection, _REDUNDANT)
    )
    pages, without_connections, oversized = _single_row(connection, _PAGES)
    return Undecided(
        undecidable=undecidable,
        unknown=unknown,
        other_owners=other_owners,
        sockets=sockets,
        in_vain=in_vain,
        unattributed=unattributed,
        redundant=redundant,
        lacking=[(what, without_fraction(count)) for what, count in connection.execute(_LACKING).fetchall()],
        pages=pages,
        without_connections=without_connections,
        oversized=oversized,
        phases=[(printable_excerpt(host or "?"), count) for host, count in phases],
        unseen=_single_row(connection, _UNSEEN),
        cleartext=_single_row(connection, _CLEARTEXT),
        uncovered=[
            (printable_excerpt(host), names and [printable_excerpt(name) for name in names])
            for host, names in uncovered
        ],
    )


def _single_row(connection: duckdb.DuckDBPyConnection, sql: str) -> tuple[int, ...]:
    (row,) = connection.execute(sql).fetchall()
    return tuple(row)


def without_findings(open_questions: Undecided) -> list[str]:
    """Sentences on pages without redundant connections, and on pages for which that is not known."""
    pages, sentences = open_questions.pages, []
    if open_questions.without_connections:
        recordings = "The recording does not show"
        if pages > 1:
            recordings = f"The recordings of {open_questions.without_connections:,} of {pages:,} pages do not show"
        sentences.append(
            f"{recordings} which connection each request used, so it is not known which connections could have been "
            f"shared. {_phases(open_questions.phases, one_page=pages == 1)}"
        )
    if open_questions.oversized:
        pages_have = "This page has" if pages == 1 else f"{quantity(open_questions.oversized, 'page')} have"
        sentences.append(
            f"{pages_have} more than 1,000 hosts or connections, so these were not compared: it is not known which "
            "connections could have been shared."
        )
    if not sentences and not open_questions.redundant:
        sentences.append(f"No earlier connection could have served another.{_limits(open_questions.unseen)}")
    return sentences


def without_advice(open_questions: Undecided, *, asked_live: bool) -> list[str]:
    """Why there is no advice on some redundant connections; ``asked_live``: study enrich --live has run."""
    sentences = []
    if open_questions.undecidable:
        needs = ", ".join(f"{what} ({count:,})" for what, count in open_questions.lacking)
        offer = ""
        if not asked_live and not OBTAINABLE_LIVE.isdisjoint(what for what, _ in open_questions.lacking):
            offer = (
                " DNS answers and certificates can be obtained from live servers: explain --live, or study enrich "
                "--live for a study."
            )
        of = quantity(open_questions.undecidable, "connection")
        sentences.append(f"{of}: the recording does not show the cause, or the first cause; it lacks {needs}.{offer}")
    if open_questions.other_owners:
        sentences.append(
            f"{quantity(open_questions.other_owners, 'connection')}: on the same network as an earlier one, but under "
            "other registrable domains; the recording does not show whether one owner has both."
        )
    if open_questions.in_vain:
        sentences.append(
            f"{quantity(open_questions.in_vain, 'connection')}: the page's server could name the host in its "
            "certificate and its ORIGIN frame, but by the site's plan no browser would save a connection, or the name "
            "should not be added."
        )
    if open_questions.sockets:
        of = quantity(open_questions.sockets, "connection")
        sentences.append(f"{of}: a WebSocket over HTTP/1.1 needs a connection of its own.")
    if open_questions.unattributed:
        sentences.append(
            f"{quantity(open_questions.unattributed, 'connection')}: browsers kept them apart because of credentials "
            "or because of cookies; the recording does not show which."
        )
    if open_questions.unknown:
        sentences.append(f"{quantity(open_questions.unknown, 'connection')}: no known rule forbade sharing.")
    return sentences


def without_counts(open_questions: Undecided) -> list[str]:
    """Sentences on connections that the counts do not include, and on hosts with a certificate that is not theirs."""
    sentences = []
    requests, connections, hosts = open_questions.cleartext
    if requests:
        what = quantity(connections, "connection") if connections else quantity(requests, "request")
        sentences.append(
            f"{what} to {quantity(hosts, 'host')} carried cleartext HTTP. Without TLS no certificate shows which other "
            "hosts a connection could serve, so no count includes them."
        )
    if open_questions.uncovered:
        hosts_of = enumerated([f"{host} ({_names(names)})" for host, names in open_questions.uncovered], 3)
        sentences.append(
            f"Presented a certificate that does not cover the host: {hosts_of}. Browsers refuse such a certificate "
            "unless they are told not to, and do not share the connection. The host needs a certificate that covers it."
        )
    return sentences


def _names(names: list[str] | None) -> str:
    return f"it names {enumerated(names, 2)}" if names else "it has no names"


def _phases(phases: list[tuple[str, int]], *, one_page: bool) -> str:
    if not phases:
        return "No request has a connect phase."
    total = sum(count for _, count in phases)
    most: dict[str, int] = {}
    for host, count in phases:
        most[host] = max(count, most.get(host, 0))
    several = [f"{host} ({'' if one_page else 'up to '}{count})" for host, count in most.items() if count > 1]
    on = "" if one_page else " on any page"
    repeated = f"more than one{on}: {enumerated(several, 5)}" if several else f"no host has more than one{on}"
    opened = f"{quantity(total, 'request')} opened a connection, to {quantity(len(most), 'host')}"
    return f"By their connect phases, {opened}; {repeated}."


def _limits(unseen: tuple[int, ...]) -> str:
    connections, names, addresses = unseen
    missing = [
        f"{what} of {count:,}" for what, count in (("certificate names", names), ("addresses", addresses)) if count
    ]
    if not missing:
        return ""
    return f" The recording cannot show more: it lacks {' and '.join(missing)} of {connections:,} connections."
