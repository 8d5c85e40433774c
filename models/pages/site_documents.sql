-- The documents of the visits that count for their site's certificate. Partial recordings count too, because the certificates
-- and names that they have are right.
-- scope: by page
-- visit_id: the visit
-- page: its page
-- site: the visit's site
-- vantage: the visit's vantage
-- request_id: the request that it answered
-- server: the document's host
-- secure: it was loaded over https
-- asn: the AS of its server
-- server_ip: the server's address
-- server_key: the server key
-- connection_id: its connection
-- certificate_id: the leaf certificate presented on that connection; NULL if not recorded
SELECT d.*, v.site, v.vantage
FROM page_documents AS d
JOIN visits AS v ON v.visit_id = d.visit_id
JOIN recording_limits AS l ON l.page = d.page
WHERE l.not_the_page IS NULL
