-- One row per host and address that some pages asked for it at, and when they last did. Without oversized pages.
-- scope: by page
-- host: the host
-- server_ip: the address; NULL for a connection to an address that is not known
-- last_seen_at: when the last of these pages was loaded
-- served: the host's server answered there over https at a public address, so that the address is its own: with a 2xx or
--   3xx status, or with any but 421 on a connection that was opened for the host. An address that is not public may be a
--   proxy's.
-- last_served_at: when it last did
WITH
answers AS (
  SELECT
    h.host,
    h.server_ip,
    p.started_at,
    h.secure AND shows_host(h.succeeded, h.answered - h.refused, h.host, c.first_host) AS served
  FROM host_connections AS h
  JOIN pages AS p ON p.page = h.page
  LEFT JOIN page_connections AS c ON c.page = h.page AND c.connection_id = h.connection_id
  WHERE
    h.host IS NOT NULL
    AND (h.server_ip IS NOT NULL OR h.connection_id IS NOT NULL)
    AND h.page NOT IN (SELECT page FROM oversized_pages)
),
seen AS (
  SELECT
    host,
    server_ip,
    max(started_at) AS last_seen_at,
    bool_or(served) AS served,
    max(started_at) FILTER (served) AS last_served_at
  FROM answers
  GROUP BY host, server_ip
)
SELECT
  s.host,
  s.server_ip,
  s.last_seen_at,
  s.served AND coalesce(a.ip IS NOT NULL AND coalesce(a.kind NOT IN ('private', 'bogon'), true), false) AS served,
  CASE WHEN served THEN s.last_served_at END AS last_served_at
FROM seen AS s
LEFT JOIN addresses AS a ON a.ip = s.server_ip
