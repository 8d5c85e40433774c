-- What each site's average page needs at each rung of the ladder (page_rungs): the mean over its pages, each the mean over its
-- visits that count. Vantages and browsers stand by themselves.
-- question: connections or lookups
-- vantage: the vantage
-- browser: the browser
-- step: the order of rungs
-- rung: the step in words
-- aside: true for a rung that is no step between its neighbours, but shown for comparison
-- site: the site
-- rank: its rank
-- pages: its pages that count
-- n: how many; NULL where it is not known of one of the visits
-- measured: how many were measured
WITH
sites AS (
  SELECT
    v.question, v.vantage, v.browser, r.step, r.rung, r.aside, v.site,
    min(v.rank) AS rank,
    count(DISTINCT v.page) AS pages,
    CASE WHEN count(r.n) = count(*) THEN sum(v.weight * r.n ORDER BY v.visit_id) END AS n
  FROM counted_visits AS v
  JOIN page_rungs AS r ON r.visit_id = v.visit_id AND r.question = v.question
  GROUP BY ALL
)
SELECT *, first(n) OVER (PARTITION BY question, vantage, browser, site ORDER BY step) AS measured FROM sites
