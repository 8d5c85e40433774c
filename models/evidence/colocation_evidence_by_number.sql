-- The evidence that one server can answer for two hosts of a page, or that it cannot. Hosts are paired if they are in one of
-- cohosted_groups. For levels 0 and 1, which most hosts of most pages share, one of the two is the host of the page's document.
-- A pair has one row for each kind of evidence; of several sources the row has the first in the alphabet. A certificate that
-- covers both hosts, and that a server of one of them presented, shows that one owner has both. If both are also at one edge or
-- address, it shows that one server can answer for both. No row has level 4 (tested): only probes of live servers give it.
-- scope: over the study
-- a: number of the host that comes first in the alphabet (numbered_hosts)
-- b: number of the other; the other columns are those of the table colocation_evidence
WITH
-- Places are numbered in alphabetical order, so that the least number is that of the first source in the alphabet.
numbered_places AS MATERIALIZED (
  SELECT kind, place, row_number() OVER (ORDER BY place)::INTEGER AS place_id
  FROM host_places
  GROUP BY kind, place
  HAVING count(*) > 1
),
places_of_hosts AS MATERIALIZED (
  SELECT
    CAST(s.kind AS ENUM ('same_as', 'same_organisation', 'one_owner', 'same_edge', 'shared_address', 'certificate')) AS kind,
    p.place_id, s.host_id, s.last_seen_at, s.presented
  FROM host_places AS s
  JOIN numbered_places AS p ON p.kind = s.kind AND p.place = s.place
),
list_members AS MATERIALIZED (
  SELECT m.list, h.host_id
  FROM (SELECT list, unnest(hosts) AS host FROM (SELECT row_number() OVER ()::INTEGER AS list, hosts FROM cohosted_lists)) AS m
  JOIN numbered_hosts AS h ON h.host = m.host
),
places_of_members AS (
  SELECT m.list, p.kind, p.place_id, p.host_id, p.last_seen_at, p.presented
  FROM list_members AS m
  JOIN places_of_hosts AS p ON p.host_id = m.host_id
  WHERE p.kind IN ('same_edge', 'shared_address', 'certificate', 'one_owner')
),
-- Joins and not lists of hosts by place: DuckDB spills joins to disk, but not the lists that it aggregates.
pairs_of_members AS (
  SELECT a.kind, a.place_id, a.host_id AS a, b.host_id AS b, least(a.last_seen_at, b.last_seen_at) AS observed_at
  FROM places_of_members AS a
  JOIN places_of_members AS b ON b.list = a.list AND b.place_id = a.place_id AND a.host_id < b.host_id
  WHERE a.kind <> 'certificate' OR a.presented OR b.presented
),
neighbours AS (
  SELECT DISTINCT a.host_id AS a, b.host_id AS b
  FROM document_neighbours AS n
  JOIN numbered_hosts AS a ON a.host = n.host_a
  JOIN numbered_hosts AS b ON b.host = n.host_b
),
-- Materialized, because DuckDB may otherwise join all hosts of a place with each other first: quadratic in the study's size.
places_of_neighbours AS MATERIALIZED (
  SELECT p.kind, n.a, n.b, p.place_id, p.last_seen_at
  FROM neighbours AS n
  JOIN places_of_hosts AS p ON p.host_id = n.a
  WHERE p.kind IN ('same_as', 'same_organisation')
),
evidence_by_place AS (
  SELECT kind, a, b, place_id, observed_at FROM pairs_of_members
  UNION ALL
  SELECT n.kind, n.a, n.b, n.place_id, least(n.last_seen_at, p.last_seen_at)
  FROM places_of_neighbours AS n
  JOIN places_of_hosts AS p ON p.host_id = n.b AND p.place_id = n.place_id
),
at_one_edge AS (
  SELECT DISTINCT a, b FROM evidence_by_place WHERE kind IN ('same_edge', 'shared_address')
),
evidence_by_kind AS (
  SELECT
    CASE WHEN o.kind = 'certificate' AND e.a IS NULL THEN 'one_owner' ELSE o.kind END AS kind,
    o.a, o.b,
    min(o.place_id) AS place_id,
    max(o.observed_at) AS observed_at
  FROM evidence_by_place AS o
  LEFT JOIN at_one_edge AS e ON e.a = o.a AND e.b = o.b
  GROUP BY ALL
),
-- A connection that carried both hosts is evidence if its server serves both. An error counts as serving if the host's own
-- server gives the same error.
shared_connections AS (
  SELECT
    p.host_a,
    p.host_b,
    connection_source(p.connection_id, p.visit_id) AS source,
    p.observed_at,
    CASE WHEN (p.a_served OR a.host IS NOT NULL) AND (p.b_served OR b.host IS NOT NULL)
      THEN 'coalesced' ELSE 'coalesced_with_errors' END AS kind
  FROM coalesced_pairs AS p
  LEFT JOIN confirmed_errors AS a
    ON a.visit_id = p.visit_id AND a.connection_id = p.connection_id AND a.host = p.host_a
  LEFT JOIN confirmed_errors AS b
    ON b.visit_id = p.visit_id AND b.connection_id = p.connection_id AND b.host = p.host_b
),
connection_evidence AS (
  SELECT kind, host_a, host_b, source, observed_at FROM shared_connections
  UNION ALL
  SELECT 'misdirected', host_a, host_b, source, observed_at FROM misdirected_pairs
),
all_evidence AS (
  SELECT k.kind::VARCHAR AS kind, k.a, k.b, p.place AS source, k.observed_at
  FROM evidence_by_kind AS k
  JOIN numbered_places AS p ON p.place_id = k.place_id
  UNION ALL
  SELECT c.kind, a.host_id, b.host_id, first(c.source ORDER BY c.observed_at DESC NULLS LAST, c.source), max(c.observed_at)
  FROM connection_evidence AS c
  JOIN numbered_hosts AS a ON a.host = c.host_a
  JOIN numbered_hosts AS b ON b.host = c.host_b
  GROUP BY c.kind, a.host_id, b.host_id
)
SELECT
  a,
  b,
  CASE kind
    WHEN 'same_as' THEN 0
    WHEN 'same_organisation' THEN 1
    WHEN 'one_owner' THEN 1
    WHEN 'same_edge' THEN 2
    WHEN 'shared_address' THEN 2
    WHEN 'certificate' THEN 3
    WHEN 'coalesced' THEN 5
    WHEN 'coalesced_with_errors' THEN 0
    WHEN 'misdirected' THEN 0
  END AS level,
  kind,
  kind = 'misdirected' AS contradicts,
  source,
  observed_at
FROM all_evidence
