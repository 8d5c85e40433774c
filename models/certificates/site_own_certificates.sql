-- The certificate of each site: the one that most visits had on the document's connection. Of several with as many visits, the
-- one with the least id.
-- scope: over the study
-- site: the site
-- certificate_id: the certificate
WITH document_certificates AS (
  SELECT site, certificate_id, count(*) AS visits
  FROM site_documents
  WHERE secure AND certificate_id IS NOT NULL
  GROUP BY site, certificate_id
)
SELECT site, first(certificate_id ORDER BY visits DESC, certificate_id) AS certificate_id
FROM document_certificates
GROUP BY site
