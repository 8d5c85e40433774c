-- For each provider up to 10 names that save most connections if it adds them to the certificates of all its sites.
-- scope: over the study
-- paper: section 4.4
-- provider: the provider; all columns are those of the table provider_changes
WITH
provider_names AS (
  SELECT server_key, site, unnest(names) AS name FROM provider_missing_names
),
provider_sites AS (
  SELECT DISTINCT server_key, site, name FROM provider_names
),
name_savings AS (
  SELECT
    s.server_key,
    s.name,
    count(*) AS sites,
    sum_if_all_known(a.connections_saved_chromium) AS connections_saved_chromium,
    sum_if_all_known(a.connections_saved_chromium_h3) AS connections_saved_chromium_h3,
    sum_if_all_known(a.connections_saved_firefox) AS connections_saved_firefox
  FROM provider_sites AS s
  LEFT JOIN certificate_additions AS a ON a.site = s.site AND a.name = s.name
  GROUP BY s.server_key, s.name
),
provider_connections AS (
  SELECT server_key, asn, sum(connections) AS connections FROM provider_missing_names GROUP BY server_key, asn
),
as_names AS (
  SELECT asn, coalesce(min(organisation), min(as_name)) AS provider FROM addresses WHERE asn IS NOT NULL GROUP BY asn
)
SELECT
  coalesce(n.provider, 'AS' || w.asn, c.server_key) AS provider,
  w.asn,
  c.name,
  c.rank,
  s.sites,
  c.connections_saved_paper,
  c.connections_saved_at_most,
  s.connections_saved_chromium,
  s.connections_saved_chromium_h3,
  s.connections_saved_firefox,
  w.connections
FROM greedy_names AS c
JOIN name_savings AS s ON s.server_key = c.server_key AND s.name = c.name
JOIN provider_connections AS w ON w.server_key = c.server_key
LEFT JOIN as_names AS n ON n.asn = w.asn
