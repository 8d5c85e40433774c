-- The requests whose start is known, as the timeline reads them.
-- scope: by page
-- paper: section 4, figure 2
-- kept as: view
-- page: the page
-- request_id: the request; phases and times are those of the table requests
-- lane: what it queues for (timeline_lanes); NULL for nothing
-- has_address: its server's address is known
-- address_asked: its page had asked this address before
-- server_asked: its page had asked a server with this server key before
-- provider_asked: it is to the one provider that coalesces, and its page had asked that for a server with this key before
-- address: its server's address (timeline_servers); NULL unless over TLS
-- server: its server, by key, likewise
-- provider_server: the same, if it is that one provider's
-- parameter provider_asns: the ASes of that provider
SELECT
  p.page, r.request_id, r.initiator_id, l.lane,
  r.server_ip IS NOT NULL AS has_address,
  has_address AND f.first_to_address IS NOT true AS address_asked,
  has_address AND f.first_to_server IS NOT true AS server_asked,
  coalesce(list_contains(getvariable('provider_asns'), a.asn), false) AND f.first_to_provider IS NOT true AS provider_asked,
  s.address, s.server,
  CASE WHEN list_contains(getvariable('provider_asns'), a.asn) THEN s.server END AS provider_server,
  r.started_ms, r.blocked_ms, r.dns_ms, r.connect_ms, r.ssl_ms, r.send_ms, r.wait_ms, r.receive_ms
FROM network_requests AS r
JOIN pages AS p ON p.visit_id = r.visit_id
LEFT JOIN timeline_lanes AS l
  ON l.page = p.page
  AND l.connection_id IS NOT DISTINCT FROM r.connection_id
  AND l.origin IS NOT DISTINCT FROM queue_origin(r.connection_id, r.scheme, r.host, r.port)
LEFT JOIN server_first_requests AS f ON f.page = p.page AND f.request_id = r.request_id
LEFT JOIN timeline_servers AS s ON s.page = p.page AND s.host = r.host AND s.server_ip = r.server_ip AND r.secure
LEFT JOIN addresses AS a ON a.ip = r.server_ip AND len(getvariable('provider_asns')) > 0
WHERE r.started_ms IS NOT NULL
