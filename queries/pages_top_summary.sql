-- The pages with most connections to save, one row for each visit.
-- parameter top = 100: rows at most
-- parameter question = any: only visits that are counted for connections, lookups, causes, servers or certificates
-- parameter site = any: only visits of this site
-- parameter host = any: only visits with a request to this host that reached the network
-- parameter cause = any: only visits with a redundant connection that has this as its first obstacle
-- visit_id: the visit
-- site: the site
-- url: the page's URL
-- vantage: the vantage
-- browser: the browser
-- round: the round
-- status: ok, partial or failed
-- tls: TLS connections measured; NULL if the recording cannot say [connections]
-- deployable: connections if hosts that one edge or address serves under one certificate shared them [connections]
-- dns: DNS lookups measured; NULL if the recording cannot say [lookups]
-- redundant: connections that an earlier one could have served; NULL if the visit is not counted for causes [connections]
WITH redundant AS (
  SELECT visit_id, count(*) AS connections FROM redundant_connections GROUP BY visit_id
)
SELECT
  v.visit_id,
  v.site,
  v.url,
  v.vantage,
  v.browser,
  v.round,
  v.status,
  c.measured_tls AS tls,
  c.paired_ideal_deployable AS deployable,
  c.measured_dns AS dns,
  CASE WHEN b.counted THEN coalesce(r.connections, 0) END AS redundant
FROM selected_visits AS s
JOIN visits AS v ON v.visit_id = s.visit_id
JOIN page_basis AS b ON b.visit_id = v.visit_id AND b.question = 'causes'
LEFT JOIN page_counts AS c ON c.visit_id = v.visit_id
LEFT JOIN redundant AS r ON r.visit_id = v.visit_id
WHERE ($question = 'any' OR v.visit_id IN (
    SELECT q.visit_id FROM page_basis AS q WHERE q.question = $question AND q.counted
  ))
  AND $site IN ('any', v.site)
  AND ($host = 'any' OR v.visit_id IN (SELECT n.visit_id FROM network_requests AS n WHERE n.host = $host))
  AND ($cause = 'any' OR v.visit_id IN (SELECT o.visit_id FROM redundant_connections AS o WHERE o.cause = $cause))
ORDER BY c.measured_tls - c.paired_ideal_deployable DESC NULLS LAST, c.measured_tls DESC NULLS LAST, v.site, v.visit_id
LIMIT $top
