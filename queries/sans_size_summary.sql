-- How many names certificates have, the most frequent number first: as they are, and with the additions of the paper's ideal.
-- Only sites for which both are known.
-- paper: table 8
-- parameter top = 10: rows at most
-- rank: position in both rankings
-- names: names in a certificate as it is [names]
-- sites: sites whose certificate has this many names
-- sites_pct: the same [percent of all]
-- ideal_names: names in a certificate with its additions [names]
-- ideal_sites: sites whose certificate would have this many names
-- ideal_sites_pct: the same [percent of all]
WITH
measured_sizes AS (
  SELECT existing_names AS names, count(*) AS sites FROM site_certificates WHERE additions IS NOT NULL GROUP BY names
),
ideal_sizes AS (
  SELECT ideal_names, count(*) AS ideal_sites FROM site_certificates WHERE additions IS NOT NULL GROUP BY ideal_names
),
ranked_measured_sizes AS (
  SELECT
    row_number() OVER (ORDER BY sites DESC, names) AS rank,
    names,
    sites,
    100.0 * sites / sum(sites) OVER () AS sites_pct
  FROM measured_sizes
),
ranked_ideal_sizes AS (
  SELECT
    row_number() OVER (ORDER BY ideal_sites DESC, ideal_names) AS rank,
    ideal_names,
    ideal_sites,
    100.0 * ideal_sites / sum(ideal_sites) OVER () AS ideal_sites_pct
  FROM ideal_sizes
)
SELECT rank, names, sites, sites_pct, ideal_names, ideal_sites, ideal_sites_pct
FROM ranked_measured_sizes
FULL JOIN ranked_ideal_sizes USING (rank)
ORDER BY rank
LIMIT $top
