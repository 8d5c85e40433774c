-- One row per page and origin (scheme, host, port) of its https and wss requests with a connection: the connection that was
-- opened first of those that served the origin, which is not the case if it only answered with 421. All other connections
-- are duplicates: every origin that they served already had one.
-- page: the page
-- scheme: https or wss
-- host: the origin's host
-- port: its port
-- connection_id: the connection
-- refused: no connection served the origin, this one only answered with 421
-- server_ip: address of the connection's first request that has one
-- server_key: its server key
WITH opened AS (
  SELECT
    h.page,
    h.connection_id,
    coalesce(any_value(c.opened_ms), min(h.started_ms)) AS opened_ms,
    min(h.request_id) AS request_id,
    first(h.server_ip ORDER BY h.started_ms NULLS LAST, h.request_id) FILTER (h.server_ip IS NOT NULL) AS server_ip,
    first(h.server_key ORDER BY h.started_ms NULLS LAST, h.request_id) FILTER (h.server_ip IS NOT NULL) AS server_key
  FROM host_connections AS h
  LEFT JOIN page_connections AS c ON c.page = h.page AND c.connection_id = h.connection_id
  WHERE h.secure AND h.connection_id IS NOT NULL
  GROUP BY h.page, h.connection_id
)
SELECT
  h.page, h.scheme, h.host, h.port, h.connection_id,
  h.refused = h.requests AS refused,
  o.server_ip, o.server_key
FROM host_connections AS h
JOIN opened AS o ON o.page = h.page AND o.connection_id = h.connection_id
WHERE h.secure
QUALIFY row_number() OVER (
  PARTITION BY h.page, h.scheme, h.host, h.port
  ORDER BY h.refused = h.requests, o.opened_ms NULLS LAST, o.request_id
) = 1
