-- The ASes with most requests that reached the network. The row without a number, one for each vantage and browser, has the
-- servers whose AS or address is not known.
-- paper: table 2
-- parameter top = 100: rows at most, of each vantage and browser
-- vantage: the vantage; vantages are not pooled
-- browser: the browser; browsers are not pooled
-- asn: the AS
-- as_name: its name
-- requests: requests to it, over all sites, each with its average page
-- requests_pct: the same [percent of all]
-- hosts: distinct hosts in it
-- pages: pages that used it
SELECT
  v.vantage,
  v.browser,
  a.asn,
  any_value(a.as_name) AS as_name,
  round(sum(v.weight), 2) AS requests,
  round(100.0 * sum(v.weight) / sum(sum(v.weight)) OVER (PARTITION BY v.vantage, v.browser), 6) AS requests_pct,
  count(DISTINCT r.host) AS hosts,
  count(DISTINCT (v.site, v.page)) AS pages
FROM counted_visits AS v
JOIN network_requests AS r ON r.visit_id = v.visit_id
LEFT JOIN addresses AS a ON a.ip = r.server_ip
WHERE v.question = 'servers'
GROUP BY v.vantage, v.browser, a.asn
QUALIFY row_number() OVER (PARTITION BY v.vantage, v.browser ORDER BY requests DESC, a.asn NULLS LAST) <= $top
ORDER BY v.vantage NULLS LAST, v.browser NULLS LAST, requests DESC, a.asn NULLS LAST
