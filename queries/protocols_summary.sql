-- Requests by HTTP version and by whether they were secure; only requests that reached the network.
-- paper: table 3
-- protocol: http/1.0, http/1.1, h2, h3 or other; NULL where not recorded
-- secure: over https or wss
-- requests: requests
-- requests_pct: the same [percent of all]
SELECT
  r.protocol,
  r.scheme IN ('https', 'wss') AS secure,
  count(*) AS requests,
  100.0 * count(*) / sum(count(*)) OVER () AS requests_pct
FROM network_requests AS r
GROUP BY ALL
ORDER BY requests DESC, r.protocol NULLS LAST, secure
