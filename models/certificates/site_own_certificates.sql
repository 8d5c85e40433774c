-- The certificate of each site: the one that most visits saw on the document's connection, and the least id of a tie.
-- scope: over the study
-- site: the site
-- certificate_id: the certificate
WITH seen AS (
  SELECT site, certificate_id, count(*) AS visits
  FROM site_documents
  WHERE secure AND certificate_id IS NOT NULL
  GROUP BY site, certificate_id
)
SELECT site, first(certificate_id ORDER BY visits DESC, certificate_id) AS certificate_id
FROM seen
GROUP BY site
