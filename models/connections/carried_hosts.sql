-- The hosts that each connection carried requests for, other than by answers of 421. A connection whose id was inferred tells
-- nothing. Without oversized pages.
-- scope: by page
-- page: the page
-- connection_id: the connection
-- host: the host
-- served: the connection's server showed that it serves the host: by an answer with a 2xx or 3xx status, or by any but 421
--   if the connection was opened for the host
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
