-- One row per visit and host with the same server key as the document, over https and wss; the document's host included. A
-- connection counts only for the host of its first request, so that the sum over hosts is the number of connections that the
-- paper's ideal saves.
-- scope: by page
-- paper: section 4.3
-- site: the visit's site
-- server: the document's host
-- visit_id: the visit
-- host: the host
-- port: its port; if it has several, the one with most requests
-- requests: requests for it
-- connections: connections opened for it, other than the document's; NULL where the recorder gives no connection ids
WITH
requests_by_port AS (
  SELECT site, server, visit_id, host, port, sum(requests) AS requests, count(connection_id) AS connection_ids
  FROM document_server_connections
  GROUP BY site, server, visit_id, host, port
),
hosts_of_page AS (
  SELECT
    site, server, visit_id, host,
    arg_max(struct_pack(port := port), (requests, port IS NULL, -coalesce(port, 0))).port AS port,
    sum(requests) AS requests,
    sum(connection_ids) > 0 AS has_connection_ids
  FROM requests_by_port
  GROUP BY site, server, visit_id, host
),
first_hosts AS (
  SELECT visit_id, connection_id, arg_min(struct_pack(name := host), request_id).name AS host
  FROM document_server_connections
  WHERE connection_id IS NOT NULL AND connection_id IS DISTINCT FROM document_connection_id
  GROUP BY visit_id, connection_id
),
opened_connections AS (
  SELECT visit_id, host, count(*) AS connections FROM first_hosts GROUP BY visit_id, host
)
SELECT
  p.site, p.server, p.visit_id, p.host, p.port,
  p.requests::BIGINT AS requests,
  CASE WHEN p.has_connection_ids THEN coalesce(o.connections, 0) END AS connections
FROM hosts_of_page AS p
LEFT JOIN opened_connections AS o ON o.visit_id = p.visit_id AND o.host IS NOT DISTINCT FROM p.host
