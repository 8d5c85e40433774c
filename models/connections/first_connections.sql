-- One row per page and origin (scheme, host, port) of its https and wss requests with a connection: the connection that was
-- opened first of those that served the origin, which is not the case if it only answered with 421. All other connections
-- scope: by page
-- are duplicates: every origin that they served already had one.
-- page: the page
-- scheme: https or wss
-- host: the origin's host
-- port: its port
-- connection_id: the connection
-- refused: no connection served the origin, this one only answered with 421
-- server_ip: address of the connection's first request that has one
-- server_key: its server key
WITH
opened AS (
  SELECT
    h.page,
    h.connection_id,
    coalesce(any_value(c.opened_ms), min(h.started_ms), 'infinity') AS opened_ms,
    min(h.request_id) AS request_id,
    arg_min(
      struct_pack(ip := h.server_ip, key := h.server_key), (coalesce(h.started_ms, 'infinity'), h.request_id)
    ) FILTER (h.server_ip IS NOT NULL) AS server
  FROM host_connections AS h
  LEFT JOIN page_connections AS c ON c.page = h.page AND c.connection_id = h.connection_id
  WHERE h.secure AND h.connection_id IS NOT NULL
  GROUP BY h.page, h.connection_id
),
firsts AS (
  SELECT
    h.page, h.scheme, h.host, h.port,
    arg_min(h.connection_id, (h.refused = h.requests, o.opened_ms, o.request_id)) AS connection_id,
    bool_and(h.refused = h.requests) AS refused
  FROM host_connections AS h
  JOIN opened AS o ON o.page = h.page AND o.connection_id = h.connection_id
  WHERE h.secure
  GROUP BY h.page, h.scheme, h.host, h.port
)
SELECT
  f.page, f.scheme, f.host, f.port, f.connection_id, f.refused,
  o.server.ip AS server_ip,
  o.server.key AS server_key
FROM firsts AS f
JOIN opened AS o ON o.page = f.page AND o.connection_id = f.connection_id
