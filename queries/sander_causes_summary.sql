-- Redundant connections by Sander et al.'s causes (IMC 2021): CERT (same address, certificate does not cover the name), IP
-- (certificate covers the name, other address), CRED (same address and covered), of an earlier connection over the same
-- version of HTTP. One connection can have several. Bounds where closing times are unknown: immediate (closed after the last
-- request) and endless (never closed).
-- protocols: any; h2: connections over HTTP/2 alone, which is what the paper counts
-- bound: immediate or endless
-- cause: CERT, IP, CRED, or any
-- connections: connections with the cause [connections]
-- tls_pct: the same [percent of the TLS connections of these pages that carried requests over these protocols]
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
carried AS (
  SELECT visit_id, connection_id, arg_min(protocol, request_id) AS protocol
  FROM requests
  JOIN pages USING (visit_id)
  WHERE connection_id IS NOT NULL AND scheme IN ('https', 'wss') AND from_cache IS DISTINCT FROM true
  GROUP BY visit_id, connection_id
),
measured AS (
  SELECT 'any' AS protocols, sum(measured_tls) AS tls FROM pages
  UNION ALL
  SELECT 'h2', count(*) FROM carried WHERE protocol = 'h2'
),
bounds AS (
  SELECT visit_id, connection_id, 'immediate' AS bound, sander_immediate AS causes FROM redundant_connections
  UNION ALL
  SELECT visit_id, connection_id, 'endless', sander_endless FROM redundant_connections
),
found AS (
  SELECT
    b.visit_id,
    b.bound,
    unnest(list_append(b.causes, 'any')) AS cause,
    c.protocol IS NOT DISTINCT FROM 'h2' AS over_h2
  FROM bounds AS b
  JOIN pages USING (visit_id)
  LEFT JOIN carried AS c ON c.visit_id = b.visit_id AND c.connection_id = b.connection_id
  WHERE len(b.causes) > 0
),
counted AS (
  SELECT m.protocols, f.bound, f.cause, count(*) AS connections, count(DISTINCT f.visit_id) AS pages
  FROM measured AS m
  JOIN found AS f ON m.protocols = 'any' OR f.over_h2
  GROUP BY ALL
),
wanted AS (
  SELECT protocols, tls, bound, cause
  FROM
    measured,
    (VALUES ('immediate'), ('endless')) AS b (bound),
    (VALUES ('CERT'), ('IP'), ('CRED'), ('any')) AS c (cause)
)
SELECT
  w.protocols,
  w.bound,
  w.cause,
  coalesce(c.connections, 0) AS connections,
  100.0 * coalesce(c.connections, 0) / nullif(w.tls, 0) AS tls_pct,
  coalesce(c.pages, 0) AS pages,
  100.0 * coalesce(c.pages, 0) / nullif((SELECT count(*) FROM pages), 0) AS sites_pct,
  (SELECT count(*) FROM pages) AS of_pages
FROM wanted AS w
LEFT JOIN counted AS c USING (protocols, bound, cause)
ORDER BY w.protocols, w.bound DESC, list_position(['CERT', 'IP', 'CRED', 'any'], w.cause)
