-- One row per host and server address that requests for it went to. Oversized pages are left out.
-- scope: by page
-- host: the host
-- server_ip: the address; NULL if the address of the connection is not known
-- last_seen_at: start of the last visit with such a request
-- served: the server at this address serves the host: over https it answered with a 2xx or 3xx status, or, on a connection
--   opened for the host, with any status but 421. False for an address that is not public, which may be a proxy's.
-- last_served_at: start of the last visit in which it served the host; NULL if served is false
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
addresses_of_hosts AS (
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
FROM addresses_of_hosts AS s
LEFT JOIN addresses AS a ON a.ip = s.server_ip
