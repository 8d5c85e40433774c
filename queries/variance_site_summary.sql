-- How much visits of one page differ from one another, and pages from one another: the variance within and between the
-- pages of a study, over all its vantages, rounds and repeats (one-way random effects, from the means of squares).
-- counts: what is counted: TLS connections or DNS lookups
-- sites: pages that were visited twice or more
-- visits: their visits
-- within_variance: between visits of one page
-- between_variance: between pages, without what comes from visits alone; at least 0
-- between_pct: of both together [percent]
WITH
counted AS (
  SELECT
    unnest([
      {'counts': 'TLS connections', 'n': c.measured_tls},
      {'counts': 'DNS lookups', 'n': c.measured_dns}
    ], recursive := true),
    coalesce(v.site, '') || chr(10) || coalesce(v.url, '') AS page
  FROM visits AS v
  JOIN page_counts AS c USING (visit_id)
  WHERE v.status IS DISTINCT FROM 'failed'
),
pages AS (
  SELECT counts, page, count(*) AS visits, avg(n) AS mean, var_samp(n) AS variance
  FROM counted
  WHERE n IS NOT NULL
  GROUP BY counts, page
  HAVING count(*) >= 2
),
squares AS (
  SELECT
    counts,
    count(*) AS sites,
    sum(visits)::BIGINT AS visits,
    sum((visits - 1) * variance) / sum(visits - 1) AS within_mean,
    sum(visits * mean) / sum(visits) AS grand_mean,
    (sum(visits) - sum(visits * visits) / sum(visits)) / nullif(count(*) - 1, 0) AS visits_a_page
  FROM pages
  GROUP BY counts
),
between_pages AS (
  SELECT
    counts,
    sum(p.visits * (p.mean - s.grand_mean) ** 2) / nullif(any_value(s.sites) - 1, 0) AS between_mean
  FROM pages AS p
  JOIN squares AS s USING (counts)
  GROUP BY counts
),
components AS (
  SELECT
    counts,
    sites,
    visits,
    within_mean AS within_variance,
    CASE WHEN between_mean IS NOT NULL THEN greatest(0, (between_mean - within_mean) / visits_a_page) END
      AS between_variance
  FROM squares
  JOIN between_pages USING (counts)
)
SELECT
  counts,
  sites,
  visits,
  within_variance,
  between_variance,
  100 * between_variance / nullif(within_variance + between_variance, 0) AS between_pct
FROM components
ORDER BY counts DESC
