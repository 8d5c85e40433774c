-- Visits that failed, by vantage, and what other vantages say of the same sites: a site that failed at one place alone was
-- refused there, or was unlucky. A row without a vantage is for recordings that name none.
-- vantage: the place
-- visits: visits from it
-- failed: visits that failed
-- failed_pct: the same [percent of visits]
-- sites: sites visited from it
-- sites_failed: sites of which no visit from it loaded
-- sites_failed_here_alone: of these, sites that loaded from another vantage
-- sites_seen_elsewhere: sites that were visited from another vantage too
WITH
placed AS (
  SELECT vantage, site, bool_or(status IS DISTINCT FROM 'failed') AS loaded
  FROM visits
  WHERE site IS NOT NULL
  GROUP BY vantage, site
),
compared AS (
  SELECT
    *,
    count(vantage) OVER (PARTITION BY site) > 1 AND vantage IS NOT NULL AS elsewhere,
    bool_or(loaded AND vantage IS NOT NULL) OVER (PARTITION BY site) AS loaded_somewhere
  FROM placed
),
of_sites AS (
  SELECT
    vantage,
    count(*) AS sites,
    count(*) FILTER (NOT loaded) AS sites_failed,
    count(*) FILTER (NOT loaded AND elsewhere AND loaded_somewhere) AS sites_failed_here_alone,
    count(*) FILTER (elsewhere) AS sites_seen_elsewhere
  FROM compared
  GROUP BY vantage
),
of_visits AS (
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
FROM of_visits AS v
LEFT JOIN of_sites AS s ON s.vantage IS NOT DISTINCT FROM v.vantage
ORDER BY v.vantage NULLS LAST
