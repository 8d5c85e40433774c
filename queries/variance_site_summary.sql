-- How much visits of one page differ, and how much pages differ: the variance within and between the pages of a study, over its
-- rounds and repeats (one-way random effects, from the mean squares).
-- vantage: the vantage; vantages are not pooled
-- browser: the browser; browsers are not pooled
-- counts: what is counted: TLS connections or DNS lookups
-- pages: pages with two or more visits that count
-- visits: these visits
-- within_variance: variance between visits of one page
-- between_variance: variance between pages, without the part that is due to visits; at least 0
-- between_pct: between_variance as a share of the sum of both [percent]
WITH
page_counts_by_visit AS (
  SELECT
    v.vantage, v.browser,
    CASE v.question WHEN 'connections' THEN 'TLS connections' ELSE 'DNS lookups' END AS counts,
    v.site, v.page,
    CASE v.question WHEN 'connections' THEN c.measured_tls ELSE c.measured_dns END AS n
  FROM counted_visits AS v
  JOIN page_counts AS c ON c.visit_id = v.visit_id
  WHERE v.question IN ('connections', 'lookups')
),
repeated_pages AS (
  SELECT vantage, browser, counts, site, page, count(*) AS visits, avg(n) AS mean, var_samp(n) AS variance
  FROM page_counts_by_visit
  GROUP BY ALL
  HAVING count(*) >= 2
),
sums_of_squares AS (
  SELECT
    vantage, browser, counts,
    count(*) AS pages,
    sum(visits)::BIGINT AS visits,
    sum((visits - 1) * variance) / sum(visits - 1) AS within_mean,
    sum(visits * mean) / sum(visits) AS grand_mean,
    (sum(visits) - sum(visits * visits) / sum(visits)) / nullif(count(*) - 1, 0) AS visits_a_page
  FROM repeated_pages
  GROUP BY ALL
),
between_page_squares AS (
  SELECT
    s.vantage, s.browser, s.counts,
    sum(r.visits * (r.mean - s.grand_mean) ** 2) / nullif(any_value(s.pages) - 1, 0) AS between_mean
  FROM repeated_pages AS r
  JOIN sums_of_squares AS s
    ON s.counts = r.counts AND s.vantage IS NOT DISTINCT FROM r.vantage AND s.browser IS NOT DISTINCT FROM r.browser
  GROUP BY ALL
),
components AS (
  SELECT
    s.vantage, s.browser, s.counts, s.pages, s.visits,
    s.within_mean AS within_variance,
    CASE WHEN b.between_mean IS NOT NULL THEN greatest(0, (b.between_mean - s.within_mean) / s.visits_a_page) END
      AS between_variance
  FROM sums_of_squares AS s
  JOIN between_page_squares AS b
    ON b.counts = s.counts AND b.vantage IS NOT DISTINCT FROM s.vantage AND b.browser IS NOT DISTINCT FROM s.browser
)
SELECT
  vantage,
  browser,
  counts,
  pages,
  visits,
  within_variance,
  between_variance,
  100 * between_variance / nullif(within_variance + between_variance, 0) AS between_pct
FROM components
ORDER BY vantage NULLS LAST, browser NULLS LAST, counts DESC
