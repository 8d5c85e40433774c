-- The names that are missing from a site's certificate by the paper's rule, with the connections that each would save in each
-- browser, who can prove control of it to a CA, and why it should not be added.
-- scope: over the study
-- paper: section 4.3
-- site: the site; all columns are those of the table certificate_additions
WITH browser_savings AS (
  SELECT
    site,
    host AS name,
    sum_if_all_known(connections_saved_chromium) AS connections_saved_chromium,
    sum_if_all_known(connections_saved_chromium_h3) AS connections_saved_chromium_h3,
    sum_if_all_known(connections_saved_firefox) AS connections_saved_firefox
  FROM site_host_savings
  GROUP BY site, host
)
SELECT
  m.*,
  s.connections_saved_chromium,
  s.connections_saved_chromium_h3,
  s.connections_saved_firefox,
  CASE WHEN m.same_owner THEN 'site' WHEN m.level >= 2 THEN 'provider' ELSE 'nobody_known' END AS validatable_by,
  CASE
    WHEN m.name IN (SELECT host FROM misdirected_hosts WHERE host IS NOT NULL) THEN 'misdirected'
    WHEN m.name IN (SELECT name FROM unsignable_names) THEN 'not_a_name'
    WHEN h.multi_cdn THEN 'multi_cdn'
  END AS blocked_reason
FROM missing_names AS m
LEFT JOIN browser_savings AS s ON s.site = m.site AND s.name = m.name
LEFT JOIN hosts AS h ON h.host = m.name
