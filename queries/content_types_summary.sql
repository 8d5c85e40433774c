-- Requests that reached the network, by content type. The row without a type, one for each vantage and browser, has responses
-- without a content type and requests without a response.
-- paper: table 5
-- parameter top = 100: rows at most, of each vantage and browser
-- vantage: the vantage; vantages are not pooled
-- browser: the browser; browsers are not pooled
-- mime_type: content type without parameters
-- requests: requests, over all sites, each with its average page
-- requests_pct: the same [percent of all]
-- bytes: transferred size of the responses with a known size, over all sites, each with its average page; NULL if none [bytes]
-- hosts: distinct hosts that served the type
-- pages: pages with such a request
SELECT
  v.vantage,
  v.browser,
  r.mime_type,
  round(sum(v.weight), 2) AS requests,
  round(100.0 * sum(v.weight) / sum(sum(v.weight)) OVER (PARTITION BY v.vantage, v.browser), 6) AS requests_pct,
  round(sum(v.weight * r.bytes), 2) AS bytes,
  count(DISTINCT r.host) AS hosts,
  count(DISTINCT (v.site, v.page)) AS pages
FROM counted_visits AS v
JOIN network_requests AS r ON r.visit_id = v.visit_id
WHERE v.question = 'servers'
GROUP BY v.vantage, v.browser, r.mime_type
QUALIFY row_number() OVER (PARTITION BY v.vantage, v.browser ORDER BY requests DESC, r.mime_type NULLS LAST) <= $top
ORDER BY v.vantage NULLS LAST, v.browser NULLS LAST, requests DESC, r.mime_type NULLS LAST
