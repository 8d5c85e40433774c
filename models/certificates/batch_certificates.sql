-- The distinct certificates that servers presented to the pages of the batch that are replayed by the browsers' rules.
-- scope: by page
-- certificate_id: the certificate
-- names_known: its subject alternative names are known
-- chain_bytes: size of the chain that a server with it sends; NULL where that is not known [bytes]
WITH shown_certificates AS (
  SELECT DISTINCT certificate_id FROM browser_connections WHERE certificate_id IS NOT NULL
)
SELECT o.certificate_id, coalesce(f.names_known, false) AS names_known, f.chain_bytes::BIGINT AS chain_bytes
FROM shown_certificates AS o
LEFT JOIN certificate_facts AS f ON f.certificate_id = o.certificate_id
