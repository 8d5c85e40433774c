-- How each site's own certificate would change under the paper's ideal, over all its visits. One row for each site with a
-- recorded document. Additions are NULL if the names of the certificate are not known, or if the address of the document is
-- not known, because then it is not known which hosts are colocated with it.
-- scope: over the study
-- paper: section 4.3
-- site: the site; all columns are those of the table site_certificates
WITH
sites AS (
  SELECT
    site,
    count(*) AS visits,
    count(DISTINCT vantage) AS vantages,
    bool_or(secure AND server_key IS NOT NULL) AS located
  FROM site_documents
  GROUP BY site
),
existing_certificates AS (
  SELECT o.site, o.certificate_id, CASE WHEN f.names_known THEN count(DISTINCT n.name) END AS names
  FROM site_own_certificates AS o
  LEFT JOIN certificate_facts AS f ON f.certificate_id = o.certificate_id
  LEFT JOIN certificate_names AS n ON n.certificate_id = o.certificate_id
  GROUP BY o.site, o.certificate_id, f.names_known
),
site_additions AS (
  SELECT site, count(*) AS names, count(*) FILTER (level >= 3 OR (level >= 2 AND same_owner)) AS deployable
  FROM certificate_additions
  GROUP BY site
)
SELECT
  s.site,
  e.certificate_id,
  e.names AS existing_names,
  CASE WHEN s.located AND e.names IS NOT NULL THEN coalesce(a.names, 0) END AS additions,
  CASE WHEN s.located AND e.names IS NOT NULL THEN coalesce(a.deployable, 0) END AS deployable_additions,
  e.names + additions AS ideal_names,
  s.visits,
  CASE WHEN s.vantages > 0 THEN s.vantages END AS vantages
FROM sites AS s
LEFT JOIN existing_certificates AS e ON e.site = s.site
LEFT JOIN site_additions AS a ON a.site = s.site
