-- Visits that failed, by vantage, compared with other vantages' visits of the same sites. A site that failed from one vantage
-- alone may block it, or may have failed by chance. A row without a vantage has recordings that name none.
-- vantage: the vantage
-- visits: visits from it
-- failed: visits that failed
-- failed_pct: the same [percent of visits]
-- sites: sites visited from it
-- sites_failed: sites for which all visits from it failed
-- sites_failed_here_alone: of these, sites that loaded from another vantage
-- sites_seen_elsewhere: sites that were visited from another vantage too
WITH
sites_by_vantage AS (
  SELECT vantage, site, bool_or(status IS DISTINCT FROM 'failed') AS loaded
  FROM visits
  WHERE site IS NOT NULL
  GROUP BY vantage, site
),
compared_sites AS (
  SELECT
    *,
    count(vantage) OVER (PARTITION BY site) > 1 AND vantage IS NOT NULL AS elsewhere,
    bool_or(loaded AND vantage IS NOT NULL) OVER (PARTITION BY site) AS loaded_somewhere
  FROM sites_by_vantage
),
site_totals AS (
  SELECT
    vantage,
    count(*) AS sites,
    count(*) FILTER (NOT loaded) AS sites_failed,
    count(*) FILTER (NOT loaded AND elsewhere AND loaded_somewhere) AS sites_failed_here_alone,
    count(*) FILTER (elsewhere) AS sites_seen_elsewhere
  FROM compared_sites
  GROUP BY vantage
),
visit_totals AS (
  SELECT vantage, count(*) AS visits, count(*) FILTER (status = 'failed') AS failed FROM visits GROUP BY vantage
)
SELECT
  v.vantage,
  v.visits,
  v.failed,
  100.0 * v.failed / v.visits AS failed_pct,
  s.sites,
  s.sites_failed,
  s.sites_failed_here_alone,
  s.sites_seen_elsewhere
FROM visit_totals AS v
LEFT JOIN site_totals AS s ON s.vantage IS NOT DISTINCT FROM v.vantage
ORDER BY v.vantage NULLS LAST
