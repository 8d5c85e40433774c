-- The host-connection pairs over https and wss that have the same server key as the document of their page, with columns of
-- that document.
-- scope: by page
-- paper: section 4.3
-- page: the page
-- connection_id: the connection
-- host: the host
-- port: its port
-- server_key: the server key of the pair and of the document
-- request_id: the least request_id of the pair
-- requests: how many requests
-- visit_id: the visit
-- site: the visit's site
-- server: the document's host
-- server_asn: the AS of the document's server
-- document_connection_id: the document's connection
SELECT
  h.page, h.connection_id, h.host, h.port, h.server_key, h.request_id, h.requests,
  d.visit_id, d.site, d.server,
  d.asn AS server_asn,
  d.connection_id AS document_connection_id
FROM host_connections AS h
JOIN site_documents AS d ON d.page = h.page AND d.server_key = h.server_key
WHERE d.secure AND h.secure
