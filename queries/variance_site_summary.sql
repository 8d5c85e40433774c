-- How much visits of one page differ from one another, and pages from one another: the variance within and between the
-- pages of a study, over its rounds and repeats (one-way random effects, from the means of squares).
-- vantage: the vantage; each stands by itself
-- browser: the browser; each stands by itself
-- counts: what is counted: TLS connections or DNS lookups
-- pages: pages of which two visits or more count
-- visits: these visits
-- within_variance: between visits of one page
-- between_variance: between pages, without what comes from visits alone; at least 0
-- between_pct: of both together [percent]
WITH
of_pages AS (
  SELECT
    v.vantage, v.browser,
    CASE v.question WHEN 'connections' THEN 'TLS connections' ELSE 'DNS lookups' END AS counts,
    v.site, v.page,
    CASE v.question WHEN 'connections' THEN c.measured_tls ELSE c.measured_dns END AS n
  FROM counted_visits AS v
  JOIN page_counts AS c ON c.visit_id = v.visit_id
  WHERE v.question IN ('connections', 'lookups')
),
repeated AS (
  SELECT vantage, browser, counts, site, page, count(*) AS visits, avg(n) AS mean, var_samp(n) AS variance
  FROM of_pages
  GROUP BY ALL
  HAVING count(*) >= 2
),
squares AS (
  SELECT
    vantage, browser, counts,
    count(*) AS pages,
    sum(visits)::BIGINT AS visits,
    sum((visits - 1) * variance) / sum(visits - 1) AS within_mean,
    sum(visits * mean) / sum(visits) AS grand_mean,
    (sum(visits) - sum(visits * visits) / sum(visits)) / nullif(count(*) - 1, 0) AS visits_a_page
  FROM repeated
  GROUP BY ALL
),
between_pages AS (
  SELECT
    s.vantage, s.browser, s.counts,
    sum(r.visits * (r.mean - s.grand_mean) ** 2) / nullif(any_value(s.pages) - 1, 0) AS between_mean
  FROM repeated AS r
  JOIN squares AS s
    ON s.counts = r.counts AND s.vantage IS NOT DISTINCT FROM r.vantage AND s.browser IS NOT DISTINCT FROM r.browser
  GROUP BY ALL
),
components AS (
  SELECT
    s.vantage, s.browser, s.counts, s.pages, s.visits,
    s.within_mean AS within_variance,
    CASE WHEN b.between_mean IS NOT NULL THEN greatest(0, (b.between_mean - s.within_mean) / s.visits_a_page) END
      AS between_variance
  FROM squares AS s
  JOIN between_pages AS b
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
