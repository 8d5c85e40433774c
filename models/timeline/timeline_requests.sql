-- The requests whose start is known, with the columns that the timelines need.
-- scope: by page
-- paper: section 4, figure 2
-- kept as: view
-- page: the page
-- request_id: the request; its phases and times are those of the table requests
-- pair: its host-connection pair (numbered_pairs)
SELECT
  p.page, r.request_id, r.initiator_id, h.pair,
  r.started_ms, r.blocked_ms, r.dns_ms, r.connect_ms, r.ssl_ms, r.send_ms, r.wait_ms, r.receive_ms
FROM network_requests AS r
JOIN pages AS p ON p.visit_id = r.visit_id
JOIN host_connections AS h
  ON h.page = p.page
  AND h.connection_id IS NOT DISTINCT FROM r.connection_id
  AND h.scheme = r.scheme
  AND h.host IS NOT DISTINCT FROM r.host
  AND h.port IS NOT DISTINCT FROM r.port
  AND h.server_ip IS NOT DISTINCT FROM r.server_ip
  AND h.connection_known = r.connection_known
WHERE r.started_ms IS NOT NULL
