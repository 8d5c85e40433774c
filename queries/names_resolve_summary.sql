-- The third of the paper's certificate checks: do names of the certificate resolve to the address that the connection
-- went to? Only lookups of the same visit count, and of the certificate's names those that the visit looked up.
-- paper: section 3, certificate checks
-- name_kind: the host that the connection was opened for, or another host that its certificate covers
-- pairs: connections with such a host
-- resolves: of these, the host's answers hold the connected address
-- elsewhere: they hold others only: a browser would not share the connection without an ORIGIN frame
-- unknown: the visit recorded no answer for the host, or the recorder not the connection's address
-- resolves_pct: resolves [percent of resolves and elsewhere]
WITH
answered AS (
  SELECT visit_id, host, list_distinct(flatten(list(answers))) AS addresses
  FROM dns_queries
  WHERE rtype IN ('A', 'AAAA') AND len(answers) > 0
  GROUP BY visit_id, host
),
used AS (
  SELECT visit_id, connection_id, first_host, server_ip, certificate_id
  FROM connections
  WHERE coalesce(tls, false) AND coalesce(used, true) AND first_host IS NOT NULL
),
-- A name and a host that it covers, by equality alone, so that both are joins.
wanted AS (
  SELECT visit_id, host, addresses, host AS name FROM answered
  UNION ALL
  SELECT visit_id, host, addresses, '*' || substr(host, instr(host, '.')) FROM answered WHERE contains(host, '.')
),
pairs AS (
  SELECT 1 AS step, 'the host it was opened for' AS name_kind, u.server_ip, a.addresses
  FROM used AS u
  LEFT JOIN answered AS a ON a.visit_id = u.visit_id AND a.host = u.first_host
  UNION ALL
  SELECT 2, 'another host that its certificate covers', server_ip, addresses
  FROM (
    SELECT DISTINCT u.visit_id, u.connection_id, w.host, u.server_ip, w.addresses
    FROM used AS u
    JOIN certificate_names AS m USING (certificate_id)
    JOIN wanted AS w ON w.visit_id = u.visit_id AND w.name = m.name
    WHERE w.host <> u.first_host
  )
)
SELECT
  name_kind,
  count(*) AS pairs,
  count(*) FILTER (resolves) AS resolves,
  count(*) FILTER (NOT resolves) AS elsewhere,
  count(*) FILTER (resolves IS NULL) AS unknown,
  100.0 * count(*) FILTER (resolves) / nullif(count(resolves), 0) AS resolves_pct
FROM (
  SELECT step, name_kind, CASE WHEN server_ip IS NOT NULL THEN list_contains(addresses, server_ip) END AS resolves
  FROM pairs
)
GROUP BY step, name_kind
ORDER BY step
