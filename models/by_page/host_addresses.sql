-- One row per host and address that some pages asked for it at, and when they last did. Without oversized pages.
-- host: the host
-- server_ip: the address; NULL for a connection to an address that is not known
-- last_seen_at: when the last of these pages was loaded
-- served: the host answered there over https at a public address, so that the address is its own. An answer with 421 is no
--   evidence for it, and an address that is not public may be a proxy's.
-- last_served_at: when it last did
WITH seen AS (
  SELECT
    h.host,
    h.server_ip,
    max(p.started_at) AS last_seen_at,
    bool_or(h.secure AND h.refused < h.requests) AS served,
    max(p.started_at) FILTER (h.secure AND h.refused < h.requests) AS last_served_at
  FROM host_connections AS h
  JOIN pages AS p ON p.page = h.page
  WHERE
    h.host IS NOT NULL
    AND (h.server_ip IS NOT NULL OR h.connection_id IS NOT NULL)
    AND h.page NOT IN (SELECT page FROM oversized_pages)
  GROUP BY h.host, h.server_ip
)
SELECT
  s.host,
  s.server_ip,
  s.last_seen_at,
  s.served AND coalesce(a.ip IS NOT NULL AND coalesce(a.kind NOT IN ('private', 'bogon'), true), false) AS served,
  CASE WHEN served THEN s.last_served_at END AS last_served_at
FROM seen AS s
LEFT JOIN addresses AS a ON a.ip = s.server_ip
