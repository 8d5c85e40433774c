-- The third of the paper's certificate checks: whether names of the certificate resolve to the address of the connection. Only
-- names that the same visit looked up count.
-- paper: section 3, certificate checks
-- vantage: the vantage; vantages are not pooled
-- browser: the browser; browsers are not pooled
-- name_kind: the host that the connection was opened for, or another host that its certificate covers
-- pairs: connections with such a host, over all sites, each with its average page
-- resolves: of these, pairs in which the host's DNS answers have the connected address
-- elsewhere: of these, pairs in which they have only other addresses: without an ORIGIN frame the connection is not shared
-- unknown: of these, pairs without a recorded answer for the host, or without a recorded address of the connection
-- resolves_pct: resolves [percent of resolves and elsewhere]
WITH
dns_answers AS (
  SELECT visit_id, host, list_distinct(flatten(list(answers))) AS addresses
  FROM dns_queries
  WHERE rtype IN ('A', 'AAAA') AND len(answers) > 0
  GROUP BY visit_id, host
),
used_connections AS (
  SELECT v.vantage, v.browser, v.weight, n.visit_id, n.connection_id, n.first_host, n.server_ip, n.certificate_id
  FROM counted_visits AS v
  JOIN connections AS n ON n.visit_id = v.visit_id
  WHERE v.question = 'certificates' AND coalesce(n.tls, false) AND coalesce(n.used, true) AND n.first_host IS NOT NULL
),
-- The names that cover a host: itself, or a wildcard. As equalities, so that DuckDB can use hash joins.
covering_names AS (
  SELECT visit_id, host, addresses, host AS name FROM dns_answers
  UNION ALL
  SELECT visit_id, host, addresses, '*' || substr(host, instr(host, '.')) FROM dns_answers WHERE contains(host, '.')
),
connection_names AS (
  SELECT
    u.vantage, u.browser, u.weight, 1 AS step, 'the host it was opened for' AS name_kind, u.server_ip, a.addresses
  FROM used_connections AS u
  LEFT JOIN dns_answers AS a ON a.visit_id = u.visit_id AND a.host = u.first_host
  UNION ALL
  SELECT vantage, browser, weight, 2, 'another host that its certificate covers', server_ip, addresses
  FROM (
    SELECT DISTINCT u.vantage, u.browser, u.weight, u.visit_id, u.connection_id, w.host, u.server_ip, w.addresses
    FROM used_connections AS u
    JOIN certificate_names AS m USING (certificate_id)
    JOIN covering_names AS w ON w.visit_id = u.visit_id AND w.name = m.name
    WHERE w.host <> u.first_host
  )
),
resolved_names AS (
  SELECT *, CASE WHEN server_ip IS NOT NULL THEN list_contains(addresses, server_ip) END AS resolves FROM connection_names
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
FROM resolved_names
GROUP BY vantage, browser, step, name_kind
ORDER BY vantage NULLS LAST, browser NULLS LAST, step
