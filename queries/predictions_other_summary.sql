-- What the rules of one browser predict from recordings by another, against what that one used for the same page: of pages
-- recorded with both, connections included: so not from crawls with Firefox, which record none, but from HARs that have them.
-- Each recording by the one is held against each by the other; these are averaged in a page, pages in a site.
-- vantage: the vantage; each stands by itself
-- recorded_by: the browser whose recordings the prediction is from
-- browser: the browser that it is for, which recorded the page too
-- within_pct: recordings by it whose count is within the range predicted [percent]
-- likely_pct: recordings by it whose count is the likeliest one [percent]
-- width: tls_high less tls_low, mean [connections]
-- recorded: mean of what it used [connections]
-- error: how far outside the range, mean, above or below alike [connections]
-- pages: pages recorded with both
-- sites: their sites
WITH
counted AS (
  SELECT visit_id, vantage, browser, regexp_extract(browser, '^[a-z]+') AS family, site, page
  FROM counted_visits
  WHERE question = 'browsers'
),
compared AS (
  SELECT
    a.vantage,
    a.browser AS recorded_by,
    b.browser,
    a.site,
    a.page,
    p.tls_low,
    p.tls_likely,
    p.tls_high,
    m.measured_tls AS recorded,
    1.0
      / count(*) OVER (PARTITION BY a.vantage, a.browser, b.browser, a.site, a.page)
      / count(DISTINCT a.page) OVER (PARTITION BY a.vantage, a.browser, b.browser, a.site) AS weight
  FROM counted AS a
  JOIN counted AS b
    ON b.vantage IS NOT DISTINCT FROM a.vantage AND b.site = a.site AND b.page = a.page AND b.family <> a.family
  JOIN browser_predictions AS p ON p.visit_id = a.visit_id AND p.browser = b.family AND p.model = 'today'
  JOIN page_counts AS m ON m.visit_id = b.visit_id
  WHERE m.measured_tls IS NOT NULL
)
SELECT
  vantage,
  recorded_by,
  browser,
  round(100.0 * sum(weight * (recorded BETWEEN tls_low AND tls_high)::INTEGER) / sum(weight), 2) AS within_pct,
  round(100.0 * sum(weight * (recorded = tls_likely)::INTEGER) / sum(weight), 2) AS likely_pct,
  round(sum(weight * (tls_high - tls_low)) / sum(weight), 2) AS width,
  round(sum(weight * recorded) / sum(weight), 2) AS recorded,
  round(sum(weight * abs(recorded - least(greatest(recorded, tls_low), tls_high))) / sum(weight), 2) AS error,
  count(DISTINCT (site, page)) AS pages,
  count(DISTINCT site) AS sites
FROM compared
GROUP BY vantage, recorded_by, browser
ORDER BY vantage NULLS LAST, recorded_by, browser
