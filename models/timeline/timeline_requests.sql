-- The requests whose start is known, with the columns that the timelines need.
-- scope: by page
-- paper: section 4, figure 2
-- kept as: view
-- page: the page
-- request_id: the request; its start and phases are those of the table requests. A phase that is not known takes no time,
--   since none can be saved.
-- pair: its host-connection pair (numbered_pairs)
SELECT
  p.page, r.request_id, r.initiator_id, h.pair, r.started_ms,
  coalesce(r.blocked_ms, 0) AS blocked_ms,
  coalesce(r.dns_ms, 0) AS dns_ms,
  coalesce(r.connect_ms, 0) AS connect_ms,
  coalesce(r.ssl_ms, 0) AS ssl_ms,
  coalesce(r.send_ms, 0) AS send_ms,
  coalesce(r.wait_ms, 0) AS wait_ms,
  coalesce(r.receive_ms, 0) AS receive_ms
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
