-- The hosts that most requests went to; only requests that reached the network.
-- paper: table 7
-- parameter top = 100: rows at most
-- host: the host
-- requests: requests to it
-- requests_pct: the same [percent of all]
-- visits: visits that used it
-- addresses: distinct addresses it was seen at
-- asns: distinct ASes of these
SELECT
  r.host,
  count(*) AS requests,
  100.0 * count(*) / sum(count(*)) OVER () AS requests_pct,
  count(DISTINCT r.visit_id) AS visits,
  count(DISTINCT r.server_ip) AS addresses,
  count(DISTINCT a.asn) AS asns
FROM network_requests AS r
LEFT JOIN addresses AS a ON a.ip = r.server_ip
GROUP BY r.host
ORDER BY requests DESC, r.host
LIMIT $top
