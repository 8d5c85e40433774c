-- The connections and lookups of each site's average page at each rung of the ladder (page_rungs): the mean over its pages of
-- the mean over their visits that count. Vantages and browsers are not pooled.
-- question: connections or lookups
-- vantage: the vantage
-- browser: the browser
-- step: the order of the rungs
-- rung: the rung's name
-- comparison_only: the rung is for comparison only: it is not a step between its neighbours
-- site: the site
-- rank: its rank
-- pages: its pages that count
-- n: how many connections or lookups; NULL if that is not known for one of the visits
-- measured: n of the measured rung
-- aside: the former name of comparison_only, which the next format of a study does not have
WITH
sites AS (
  SELECT
    v.question, v.vantage, v.browser, r.step, r.rung, r.comparison_only, v.site,
    min(v.rank) AS rank,
    count(DISTINCT v.page) AS pages,
    CASE WHEN count(r.n) = count(*) THEN sum(v.weight * r.n ORDER BY v.visit_id) END AS n
  FROM counted_visits AS v
  JOIN page_rungs AS r ON r.visit_id = v.visit_id AND r.question = v.question
  GROUP BY ALL
)
SELECT
  *,
  first_value(n) OVER (PARTITION BY question, vantage, browser, site ORDER BY step) AS measured,
  comparison_only AS aside
FROM sites
