-- Requests that reached the network, by HTTP version and by whether they were secure.
-- paper: table 3
-- vantage: the vantage; vantages are not pooled
-- browser: the browser; browsers are not pooled
-- protocol: http/1.0, http/1.1, h2, h3 or other; NULL where not recorded
-- secure: over https or wss
-- requests: requests, over all sites, each with its average page
-- requests_pct: the same [percent of all]
SELECT
  v.vantage,
  v.browser,
  r.protocol,
  r.secure,
  round(sum(v.weight), 2) AS requests,
  round(100.0 * sum(v.weight) / sum(sum(v.weight)) OVER (PARTITION BY v.vantage, v.browser), 6) AS requests_pct
FROM counted_visits AS v
JOIN network_requests AS r ON r.visit_id = v.visit_id
WHERE v.question = 'servers'
GROUP BY v.vantage, v.browser, r.protocol, r.secure
ORDER BY v.vantage NULLS LAST, v.browser NULLS LAST, requests DESC, r.protocol NULLS LAST, r.secure
