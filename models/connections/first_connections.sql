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
used AS (
  SELECT
    page,
    connection_id,
    min(started_ms) AS started_ms,
    min(request_id) AS request_id,
    arg_min(pair, (coalesce(started_ms, 'infinity'), request_id)) FILTER (server_ip IS NOT NULL) AS first_addressed_pair
  FROM host_connections
  WHERE secure AND connection_id IS NOT NULL
  GROUP BY page, connection_id
),
opened AS (
  SELECT u.*, coalesce(c.opened_ms, u.started_ms, 'infinity') AS opened_ms
  FROM used AS u
  LEFT JOIN page_connections AS c ON c.page = u.page AND c.connection_id = u.connection_id
),
firsts AS (
  SELECT
    h.page, h.scheme, h.host, h.port,
    arg_min(
      struct_pack(id := h.connection_id, pair := o.first_addressed_pair), (h.refused = h.requests, o.opened_ms, o.request_id)
    ) AS connection,
    bool_and(h.refused = h.requests) AS refused
  FROM host_connections AS h
  JOIN opened AS o ON o.page = h.page AND o.connection_id = h.connection_id
  WHERE h.secure
  GROUP BY h.page, h.scheme, h.host, h.port
)
SELECT
  f.page, f.scheme, f.host, f.port,
  f.connection.id AS connection_id,
  f.refused, s.server_ip, s.server_key
FROM firsts AS f
LEFT JOIN host_connections AS s ON s.pair = f.connection.pair
