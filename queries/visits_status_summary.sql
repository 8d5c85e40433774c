-- Visits by their status.
-- status: ok, partial (the visit was cut off; what was recorded is kept) or failed
-- visits: visits
-- visits_pct: the same [percent of all]
-- sites: distinct sites
SELECT
  status,
  count(*) AS visits,
  100.0 * count(*) / sum(count(*)) OVER () AS visits_pct,
  count(DISTINCT site) AS sites
FROM visits
GROUP BY status
ORDER BY visits DESC, status
