-- The third of the paper's certificate checks: do names of the certificate resolve to the address that the connection
-- went to? Only lookups of the same visit count, and of the certificate's names those that the visit looked up.
-- paper: section 3, certificate checks
-- vantage: the vantage; each stands by itself
-- browser: the browser; each stands by itself
-- name_kind: the host that the connection was opened for, or another host that its certificate covers
-- pairs: connections with such a host, over all sites, each with its average page
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
  SELECT v.vantage, v.browser, v.weight, n.visit_id, n.connection_id, n.first_host, n.server_ip, n.certificate_id
  FROM counted_visits AS v
  JOIN connections AS n ON n.visit_id = v.visit_id
  WHERE v.question = 'certificates' AND coalesce(n.tls, false) AND coalesce(n.used, true) AND n.first_host IS NOT NULL
),
-- A name and a host that it covers, by equality alone, so that both are joins.
wanted AS (
  SELECT visit_id, host, addresses, host AS name FROM answered
  UNION ALL
  SELECT visit_id, host, addresses, '*' || substr(host, instr(host, '.')) FROM answered WHERE contains(host, '.')
),
pairs AS (
  SELECT
    u.vantage, u.browser, u.weight, 1 AS step, 'the host it was opened for' AS name_kind, u.server_ip, a.addresses
  FROM used AS u
  LEFT JOIN answered AS a ON a.visit_id = u.visit_id AND a.host = u.first_host
  UNION ALL
  SELECT vantage, browser, weight, 2, 'another host that its certificate covers', server_ip, addresses
  FROM (
    SELECT DISTINCT u.vantage, u.browser, u.weight, u.visit_id, u.connection_id, w.host, u.server_ip, w.addresses
    FROM used AS u
    JOIN certificate_names AS m USING (certificate_id)
    JOIN wanted AS w ON w.visit_id = u.visit_id AND w.name = m.name
    WHERE w.host <> u.first_host
  )
),
resolved AS (
  SELECT *, CASE WHEN server_ip IS NOT NULL THEN list_contains(addresses, server_ip) END AS resolves FROM pairs
)
SELECT
  vantage,
  browser,
  name_kind,
  round(sum(weight), 2) AS pairs,
  round(coalesce(sum(weight) FILTER (resolves), 0), 2) AS resolves,
  round(coalesce(sum(weight) FILTER (NOT resolves), 0), 2) AS elsewhere,
  round(coalesce(sum(weight) FILTER (resolves IS NULL), 0), 2) AS unknown,
  round(100.0 * coalesce(sum(weight) FILTER (resolves), 0) / sum(weight) FILTER (resolves IS NOT NULL), 6) AS resolves_pct
FROM resolved
GROUP BY vantage, browser, step, name_kind
ORDER BY vantage NULLS LAST, browser NULLS LAST, step
