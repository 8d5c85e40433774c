-- One row per page and origin (scheme, host, port) of its https and wss requests with a connection: the first opened of the
-- connections that served the origin. A connection that answered only with 421 did not serve it. All other connections are
-- duplicates, because each origin that they served had a connection already.
-- scope: by page
-- page: the page
-- scheme: https or wss
-- host: the origin's host
-- port: its port
-- connection_id: the connection
-- refused: no connection served the origin; this one answered only with 421
-- server_ip: server address of the connection's first request with a known address
-- server_key: server key of that request
WITH
used_connections AS (
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
opening_times AS (
  SELECT u.*, coalesce(c.opened_ms, u.started_ms, 'infinity') AS opened_ms
  FROM used_connections AS u
  LEFT JOIN page_connections AS c ON c.page = u.page AND c.connection_id = u.connection_id
),
first_by_origin AS (
  SELECT
    h.page, h.scheme, h.host, h.port,
    arg_min(
      struct_pack(id := h.connection_id, pair := o.first_addressed_pair), (h.refused = h.requests, o.opened_ms, o.request_id)
    ) AS connection,
    bool_and(h.refused = h.requests) AS refused
  FROM host_connections AS h
  JOIN opening_times AS o ON o.page = h.page AND o.connection_id = h.connection_id
  WHERE h.secure
  GROUP BY h.page, h.scheme, h.host, h.port
)
SELECT
  f.page, f.scheme, f.host, f.port,
  f.connection.id AS connection_id,
  f.refused, s.server_ip, s.server_key
FROM first_by_origin AS f
LEFT JOIN host_connections AS s ON s.pair = f.connection.pair
