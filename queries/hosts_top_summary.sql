-- The hosts with most requests that reached the network.
-- paper: table 7
-- parameter top = 100: rows at most, of each vantage and browser
-- vantage: the vantage; vantages are not pooled
-- browser: the browser; browsers are not pooled
-- host: the host
-- requests: requests to it, over all sites, each with its average page
-- requests_pct: the same [percent of all]
-- pages: pages that used it
-- addresses: distinct server addresses of its requests
-- asns: distinct ASes of these addresses
SELECT
  v.vantage,
  v.browser,
  r.host,
  round(sum(v.weight), 2) AS requests,
  round(100.0 * sum(v.weight) / sum(sum(v.weight)) OVER (PARTITION BY v.vantage, v.browser), 6) AS requests_pct,
  count(DISTINCT (v.site, v.page)) AS pages,
  count(DISTINCT r.server_ip) AS addresses,
  count(DISTINCT a.asn) AS asns
FROM counted_visits AS v
JOIN network_requests AS r ON r.visit_id = v.visit_id
LEFT JOIN addresses AS a ON a.ip = r.server_ip
WHERE v.question = 'servers'
GROUP BY v.vantage, v.browser, r.host
QUALIFY row_number() OVER (PARTITION BY v.vantage, v.browser ORDER BY requests DESC, r.host) <= $top
ORDER BY v.vantage NULLS LAST, v.browser NULLS LAST, requests DESC, r.host
