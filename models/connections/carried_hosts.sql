-- The hosts that each connection carried requests for. A host is left out if all its answers were 421. Connections with an
-- inferred id and oversized pages are left out.
-- scope: by page
-- page: the page
-- connection_id: the connection
-- host: the host
-- served: the server of the connection serves the host: it gave an answer with a 2xx or 3xx status, or, if the connection was
--   opened for the host, with any status but 421
SELECT
  h.page,
  h.connection_id,
  h.host,
  bool_or(shows_host(h.succeeded, h.answered - h.refused, h.host, c.first_host)) AS served
FROM host_connections AS h
LEFT JOIN page_connections AS c ON c.page = h.page AND c.connection_id = h.connection_id
WHERE
  h.connection_known
  AND h.secure
  AND h.connection_id IS NOT NULL
  AND h.host IS NOT NULL
  AND h.refused < h.requests
  AND h.page NOT IN (SELECT page FROM oversized_pages)
GROUP BY h.page, h.connection_id, h.host
