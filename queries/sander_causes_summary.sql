-- Redundant connections by the causes of Sander et al. (IMC 2021), against an earlier connection over the same version of HTTP:
-- CERT (same address, certificate does not cover the name), IP (certificate covers the name, other address), CRED (same address
-- and covered). One connection can have several causes. Where closing times are not known there are two bounds: immediate
-- (closed after the last request) and endless (never closed). Over all sites, each with its average page.
-- vantage: the vantage; vantages are not pooled
-- browser: the browser; browsers are not pooled
-- protocols: any; h2: only connections over HTTP/2, which the paper counts
-- bound: immediate or endless
-- cause: CERT, IP, CRED, or any
-- connections: connections with the cause [connections]
-- tls_pct: the same [percent of the TLS connections of these pages that carried requests over these protocols]
-- pages: pages with at least one such connection
-- pages_pct: the same [percent of pages]
-- of_pages: pages counted
WITH
pages_by_protocols AS (
  SELECT v.visit_id, v.vantage, v.browser, v.site, v.page, v.weight, c.measured_tls
  FROM counted_visits AS v
  JOIN page_counts AS c ON c.visit_id = v.visit_id
  WHERE v.question = 'causes'
),
connections_of_pages AS (
  SELECT visit_id, connection_id, arg_min(protocol, request_id) AS protocol
  FROM network_requests
  WHERE connection_id IS NOT NULL AND secure
  GROUP BY visit_id, connection_id
),
connection_counts AS (
  SELECT 'any' AS protocols, vantage, browser, sum(weight * measured_tls) AS tls FROM pages_by_protocols GROUP BY ALL
  UNION ALL
  SELECT 'h2', c.vantage, c.browser, coalesce(sum(c.weight) FILTER (r.protocol = 'h2'), 0)
  FROM pages_by_protocols AS c
  LEFT JOIN connections_of_pages AS r ON r.visit_id = c.visit_id
  GROUP BY ALL
),
causes_by_bound AS (
  SELECT visit_id, connection_id, 'immediate' AS bound, sander_immediate AS causes FROM redundant_connections
  UNION ALL
  SELECT visit_id, connection_id, 'endless', sander_endless FROM redundant_connections
),
site_causes AS (
  SELECT
    c.vantage, c.browser, c.site, c.page, c.weight, b.bound,
    unnest(list_append(b.causes, 'any')) AS cause,
    r.protocol IS NOT DISTINCT FROM 'h2' AS over_h2
  FROM causes_by_bound AS b
  JOIN pages_by_protocols AS c ON c.visit_id = b.visit_id
  LEFT JOIN connections_of_pages AS r ON r.visit_id = b.visit_id AND r.connection_id = b.connection_id
  WHERE len(b.causes) > 0
),
cause_counts AS (
  SELECT
    p.protocols, f.vantage, f.browser, f.bound, f.cause,
    sum(f.weight) AS connections,
    count(DISTINCT (f.site, f.page)) AS pages
  FROM (VALUES ('any'), ('h2')) AS p (protocols)
  JOIN site_causes AS f ON p.protocols = 'any' OR f.over_h2
  GROUP BY ALL
),
bounds_and_causes AS (
  SELECT m.protocols, m.vantage, m.browser, m.tls, b.bound, c.cause
  FROM
    connection_counts AS m,
    (VALUES ('immediate'), ('endless')) AS b (bound),
    (VALUES ('CERT'), ('IP'), ('CRED'), ('any')) AS c (cause)
)
SELECT
  w.vantage,
  w.browser,
  w.protocols,
  w.bound,
  w.cause,
  round(coalesce(c.connections, 0), 2) AS connections,
  round(100.0 * coalesce(c.connections, 0) / nullif(w.tls, 0), 6) AS tls_pct,
  coalesce(c.pages, 0) AS pages,
  round(100.0 * coalesce(c.pages, 0) / b.pages, 6) AS pages_pct,
  b.pages AS of_pages
FROM bounds_and_causes AS w
JOIN basis_summary AS b
  ON b.question = 'causes' AND b.vantage IS NOT DISTINCT FROM w.vantage AND b.browser IS NOT DISTINCT FROM w.browser
LEFT JOIN cause_counts AS c
  ON c.protocols = w.protocols AND c.bound = w.bound AND c.cause = w.cause
  AND c.vantage IS NOT DISTINCT FROM w.vantage AND c.browser IS NOT DISTINCT FROM w.browser
ORDER BY
  w.vantage NULLS LAST,
  w.browser NULLS LAST,
  w.protocols,
  w.bound DESC,
  list_position(['CERT', 'IP', 'CRED', 'any'], w.cause)
