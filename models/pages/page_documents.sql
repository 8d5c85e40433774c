-- The document of each visit of which one came over the network: the response that made the page. It is the first response that
-- is no redirect and has the visit's final URL; where none has, the first of type document; where none is of that type, the
-- first; where all are redirects, the first of these.
-- scope: by page
-- visit_id: the visit
-- page: its page
-- request_id: the request that it answered
-- server: the document's host
-- secure: it came over https
-- asn: the AS of its server
-- server_ip: the server's address
-- server_key: the server's key
-- connection_id: its connection
-- certificate_id: the leaf certificate shown on that connection; NULL where not recorded
WITH chosen AS (
  SELECT
    page,
    coalesce(min(first_at_final_url), min(first_document), min(first_response), min(request_id)) AS request_id
  FROM host_connections
  GROUP BY page
)
SELECT
  p.visit_id, d.page, d.request_id,
  h.host AS server,
  h.secure, h.asn, h.server_ip, h.server_key, h.connection_id, c.certificate_id
FROM chosen AS d
JOIN pages AS p ON p.page = d.page
JOIN host_connections AS h
  ON h.page = d.page
  AND d.request_id IN (h.first_at_final_url, h.first_document, h.first_response, h.request_id)
LEFT JOIN known_connections AS c ON c.visit_id = p.visit_id AND c.connection_id = h.connection_id
