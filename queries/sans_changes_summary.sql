-- How many additions the sites' certificates need for the paper's ideal.
-- paper: section 4 and table 8
-- sites: sites with a recorded document
-- names_known: of these, sites for which the names of the certificate and the server's address are known
-- unchanged: certificates that need no addition
-- unchanged_pct: the same [percent of names_known]
-- unchanged_pct_paper: the paper's share: sites whose certificate has no names, or names that are not known, count as unchanged
--   too [percent of sites]
-- at_most_10: certificates that need 10 additions or fewer
-- at_most_10_pct: the same [percent of names_known]
-- median_names: names in the certificate, median [names]
-- median_ideal_names: names and additions, median [names]
-- additions: over all sites [names]
SELECT
  count(*) AS sites,
  count(additions) AS names_known,
  count(*) FILTER (additions = 0) AS unchanged,
  100.0 * count(*) FILTER (additions = 0) / nullif(count(additions), 0) AS unchanged_pct,
  100.0 * count(*) FILTER (coalesce(additions, 0) = 0 OR existing_names = 0) / nullif(count(*), 0) AS unchanged_pct_paper,
  count(*) FILTER (additions <= 10) AS at_most_10,
  100.0 * count(*) FILTER (additions <= 10) / nullif(count(additions), 0) AS at_most_10_pct,
  median(existing_names) FILTER (additions IS NOT NULL) AS median_names,
  median(ideal_names) AS median_ideal_names,
  sum(additions)::BIGINT AS additions
FROM site_certificates
