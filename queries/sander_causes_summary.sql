-- Redundant connections by Sander et al.'s causes (IMC 2021): CERT (same address, certificate does not cover the name), IP
-- (certificate covers the name, other address), CRED (same address and covered). One connection can have several. Bounds
-- where closing times are unknown: immediate (closed after the last request) and endless (never closed).
-- bound: immediate or endless
-- cause: CERT, IP, CRED, or any
-- connections: connections with the cause [connections]
-- tls_pct: the same [percent of the TLS connections of these pages]
-- pages: pages with at least one
-- sites_pct: the same [percent of pages]
-- of_pages: pages counted: those that did not fail, whose connections are known and not too many to compare them all
WITH
pages AS (
  SELECT c.visit_id, c.measured_tls
  FROM page_counts AS c
  JOIN visits AS v USING (visit_id)
  WHERE v.status != 'failed' AND c.measured_tls > 0 AND c.chromium_tls_high IS NOT NULL
),
found AS (
  SELECT visit_id, connection_id, 'immediate' AS bound, unnest(list_append(sander_immediate, 'any')) AS cause
  FROM redundant_connections
  WHERE len(sander_immediate) > 0
  UNION ALL
  SELECT visit_id, connection_id, 'endless', unnest(list_append(sander_endless, 'any'))
  FROM redundant_connections
  WHERE len(sander_endless) > 0
),
wanted AS (
  SELECT bound, cause
  FROM (VALUES ('immediate'), ('endless')) AS b (bound), (VALUES ('CERT'), ('IP'), ('CRED'), ('any')) AS c (cause)
),
counted AS (
  SELECT f.bound, f.cause, count(*) AS connections, count(DISTINCT f.visit_id) AS pages
  FROM found AS f
  JOIN pages USING (visit_id)
  GROUP BY ALL
)
SELECT
  w.bound,
  w.cause,
  coalesce(c.connections, 0) AS connections,
  100.0 * coalesce(c.connections, 0) / nullif((SELECT sum(measured_tls) FROM pages), 0) AS tls_pct,
  coalesce(c.pages, 0) AS pages,
  100.0 * coalesce(c.pages, 0) / nullif((SELECT count(*) FROM pages), 0) AS sites_pct,
  (SELECT count(*) FROM pages) AS of_pages
FROM wanted AS w
LEFT JOIN counted AS c USING (bound, cause)
ORDER BY w.bound DESC, list_position(['CERT', 'IP', 'CRED', 'any'], w.cause)
