-- One row per page and origin (scheme, host, port) of its https and wss requests with a connection: the first opened of the
-- connections that served the origin. A connection that answered only with 421 did not serve it. All other connections are
-- duplicates, because each origin that they served had a connection already.
-- scope: by page
-- page: the page
-- connection_id: the connection
-- pair: the origin's host-connection pair on this connection (host_connections)
-- refused: no connection served the origin; this one answered only with 421
-- addressed_pair: the pair of the connection's first request with a known address; NULL if there is none
WITH
used_connections AS (
  SELECT
    page,
    connection_id,
    min(started_ms) AS started_ms,
    min(request_id) AS request_id,
    arg_min(pair, (coalesce(started_ms, 'infinity'), request_id)) FILTER (server_ip IS NOT NULL) AS addressed_pair
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
    h.page,
    arg_min(
      struct_pack(connection_id := h.connection_id, pair := h.pair, addressed_pair := o.addressed_pair),
      (h.refused = h.requests, o.opened_ms, o.request_id)
    ) AS connection,
    bool_and(h.refused = h.requests) AS refused
  FROM host_connections AS h
  JOIN opening_times AS o ON o.page = h.page AND o.connection_id = h.connection_id
  WHERE h.secure
  GROUP BY h.page, h.scheme, h.host, h.port
)
SELECT page, connection.connection_id, connection.pair, refused, connection.addressed_pair FROM first_by_origin
