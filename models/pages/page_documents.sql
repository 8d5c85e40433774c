-- The document of each visit that loaded one over the network. It is the first response that is not a redirect and has the
-- visit's final URL; if none has it, the first that is not a redirect and is of type document; if there is none, the first that
-- is not a redirect; if all are redirects, the first response.
-- scope: by page
-- visit_id: the visit
-- page: its page
-- request_id: the request that it answered
-- server: the document's host
-- secure: it was loaded over https
-- asn: the AS of its server
-- server_ip: the server's address
-- server_key: the server key
-- connection_id: its connection
-- certificate_id: the leaf certificate presented on that connection; NULL if not recorded
WITH document_requests AS (
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
FROM document_requests AS d
JOIN pages AS p ON p.page = d.page
JOIN host_connections AS h
  ON h.page = d.page
  AND d.request_id IN (h.first_at_final_url, h.first_document, h.first_response, h.request_id)
LEFT JOIN known_connections AS c ON c.visit_id = p.visit_id AND c.connection_id = h.connection_id
