-- The ASes that most requests went to; only requests that reached the network. One row, without a number, is for
-- servers whose AS or address is not known.
-- paper: table 2
-- parameter top = 100: rows at most
-- asn: the AS
-- as_name: its name
-- requests: requests to it
-- requests_pct: the same [percent of all]
-- hosts: distinct hosts in it
-- visits: visits that used it
SELECT
  a.asn,
  any_value(a.as_name) AS as_name,
  count(*) AS requests,
  100.0 * count(*) / sum(count(*)) OVER () AS requests_pct,
  count(DISTINCT r.host) AS hosts,
  count(DISTINCT r.visit_id) AS visits
FROM network_requests AS r
LEFT JOIN addresses AS a ON a.ip = r.server_ip
GROUP BY a.asn
ORDER BY requests DESC, a.asn NULLS LAST
LIMIT $top
