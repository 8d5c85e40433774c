-- The requests that are replayed by the browsers' rules: those to a host that reached the network, but for oversized pages.
-- scope: by page
-- kept as: view
-- visit_id: the visit
-- request_id: the request; the columns that are not named here are those of the table requests
-- secure: over https or wss
-- socket: over wss, a WebSocket
-- protocol: h1, h2 or h3; NULL for others and where it is not known. A WebSocket of which it is not known is over h1.
SELECT
  visit_id, request_id, host, port, status, resource_type, initiator_id, credentials, frame_site, connection_id, server_ip,
  started_ms, blocked_ms, dns_ms, connect_ms, send_ms, wait_ms, receive_ms, secure,
  scheme = 'wss' AS socket,
  coalesce(http_version(protocol), CASE WHEN scheme = 'wss' THEN 'h1' END) AS protocol
FROM network_requests
WHERE host IS NOT NULL AND visit_id NOT IN (SELECT visit_id FROM oversized_pages)
