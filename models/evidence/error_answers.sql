-- The error answers over https on connections with recorded ids: those with a status that is not 2xx, 3xx or 421.
-- scope: by page
-- visit_id: the visit; NULL if the connection was opened for the host
-- connection_id: the connection; NULL if it was opened for the host
-- host: the host
-- url: the requested URL
-- method: the request's method
-- status: the answer's status
SELECT DISTINCT
  CASE WHEN c.first_host IS DISTINCT FROM r.host THEN r.visit_id END AS visit_id,
  CASE WHEN c.first_host IS DISTINCT FROM r.host THEN r.connection_id END AS connection_id,
  r.host, r.url, r.method, r.status
FROM network_requests AS r
JOIN pages AS p ON p.visit_id = r.visit_id
LEFT JOIN page_connections AS c ON c.page = p.page AND c.connection_id = r.connection_id
WHERE
  r.secure
  AND r.connection_known
  AND r.connection_id IS NOT NULL
  AND r.host IS NOT NULL
  AND r.url IS NOT NULL
  AND r.status NOT BETWEEN 200 AND 399
  AND r.status <> 421
  AND p.page NOT IN (SELECT page FROM oversized_pages)
