-- The ladder of TLS connections and DNS lookups, rung by rung: measured; without duplicates; by the rules of Chromium and
-- Firefox with servers as they are (a range, where the recording lacks what decides); deployable (hosts merge if they share
-- an edge or address and one presented a certificate that covers both, or if they were seen on one connection); same edge or
-- address; one owner on different machines (one registrable domain, or one presented a certificate that covers both); and
-- the paper's ideal. The evidence for each merge is in colocation_evidence. If a server answered 421, its two hosts merge
-- only in the paper's ideal. A browser that coalesces by address still looks up every name. Chromium coalesces across sites
-- only if third-party cookies are allowed: it has rungs with cookies as recorded, and with third-party cookies blocked. Each
-- site counts with its average page: the mean over its pages of the mean over their visits.
-- paper: table 1 and figure 3 as totals
-- vantage: the vantage; vantages are not pooled
-- browser: the browser; browsers are not pooled
-- counts: TLS connections or DNS lookups
-- rung: the rung; NULL in the single row of a ladder for which no page counts
-- comparison_only: the rung is for comparison only
-- total: over all sites counted [connections or lookups]
-- median: per site [connections or lookups]
-- saved: measured minus total, over all sites counted [connections or lookups]
-- saved_pct: the same [percent of measured]
-- saved_pct_low: lower bound of its 95 % confidence interval over sites; NULL with fewer than two sites [percent]
-- saved_pct_high: upper bound of this interval [percent]
-- site_saved_pct: median over sites of the share that a site saves of its own connections or lookups [percent]
-- site_saved_pct_q1: first quartile of these shares [percent]
-- site_saved_pct_q3: third quartile of these shares [percent]
-- site_saved_pct_low: lower bound of the median's 95 % confidence interval; NULL with fewer than six sites [percent]
-- site_saved_pct_high: upper bound of this interval [percent]
-- saved_pct_least: saved_pct if the sites that were left out saved nothing [percent]
-- saved_pct_most: saved_pct if the sites that were left out saved as much as the 90th percentile of those counted [percent]
-- saved_pct_by_rank: saved_pct with sites weighted by 1 / rank; NULL if a site has no rank [percent]
-- sites: sites counted
-- pages: pages counted
-- visits: visits counted
-- left_out: pages not counted
-- left_out_why: the number of these pages for each reason
-- recorded_cookies: third-party cookies in the visits counted: allowed, blocked or not known; if visits differ, the number of
--   visits for each
WITH
compared_rungs AS (
  SELECT *, 100.0 * (measured - n) / nullif(measured, 0) AS saved_pct FROM site_rungs
),
totals AS (
  SELECT
    question, vantage, browser, step, rung, comparison_only,
    sum(n ORDER BY site) AS total,
    median(n) AS median,
    sum(measured - n ORDER BY site) AS saved,
    100.0 * sum(measured - n ORDER BY site) / nullif(sum(measured ORDER BY site), 0) AS saved_pct,
    saved_pct_interval(list(measured ORDER BY site), list(n ORDER BY site)) AS bounds,
    quantile_cont(saved_pct, [0.25, 0.5, 0.75, 0.9]) AS quartiles,
    median_interval(list(saved_pct)) AS median_bounds,
    CASE WHEN count(rank) = count(*)
      THEN 100.0 * sum((measured - n) / rank ORDER BY site) / nullif(sum(measured / rank ORDER BY site), 0) END AS by_rank
  FROM compared_rungs
  GROUP BY ALL
  HAVING count(n) = count(*)
),
recorded_cookies_of_visits AS (
  SELECT
    c.question, c.vantage, c.browser,
    coalesce(v.third_party_cookies, 'not known') AS cookies,
    count(*) AS visits
  FROM counted_visits AS c
  JOIN visits AS v ON v.visit_id = c.visit_id
  GROUP BY ALL
),
cookies AS (
  SELECT
    question, vantage, browser,
    CASE WHEN count(*) = 1 THEN any_value(cookies) ELSE string_agg(
      format('{} in {} {}', cookies, visits, CASE visits WHEN 1 THEN 'visit' ELSE 'visits' END),
      ', ' ORDER BY visits DESC, cookies
    ) END AS recorded
  FROM recorded_cookies_of_visits
  GROUP BY ALL
),
left_out AS (
  SELECT b.question, v.vantage, v.browser, v.site
  FROM selected_visits AS v
  JOIN page_basis AS b ON b.visit_id = v.visit_id
  GROUP BY ALL
  HAVING NOT bool_or(b.counted)
),
left_out_sites AS (
  SELECT question, vantage, browser, count(*) AS sites FROM left_out GROUP BY ALL
)
SELECT
  b.vantage,
  b.browser,
  CASE b.question WHEN 'connections' THEN 'TLS connections' ELSE 'DNS lookups' END AS counts,
  t.rung,
  t.comparison_only,
  round(t.total, 2) AS total,
  round(t.median, 2) AS median,
  round(t.saved, 2) AS saved,
  round(t.saved_pct, 2) AS saved_pct,
  round(t.bounds[1], 2) AS saved_pct_low,
  round(t.bounds[2], 2) AS saved_pct_high,
  round(t.quartiles[2], 2) AS site_saved_pct,
  round(t.quartiles[1], 2) AS site_saved_pct_q1,
  round(t.quartiles[3], 2) AS site_saved_pct_q3,
  round(t.median_bounds[1], 2) AS site_saved_pct_low,
  round(t.median_bounds[2], 2) AS site_saved_pct_high,
  round(t.saved_pct * b.sites / (b.sites + coalesce(o.sites, 0)), 2) AS saved_pct_least,
  round((t.saved_pct * b.sites + t.quartiles[4] * coalesce(o.sites, 0)) / (b.sites + coalesce(o.sites, 0)), 2)
    AS saved_pct_most,
  round(t.by_rank, 2) AS saved_pct_by_rank,
  b.sites,
  b.pages,
  b.visits,
  b.left_out,
  b.left_out_why,
  c.recorded AS recorded_cookies
FROM basis_summary AS b
LEFT JOIN totals AS t
  ON t.question = b.question AND t.vantage IS NOT DISTINCT FROM b.vantage AND t.browser IS NOT DISTINCT FROM b.browser
LEFT JOIN left_out_sites AS o
  ON o.question = b.question AND o.vantage IS NOT DISTINCT FROM b.vantage AND o.browser IS NOT DISTINCT FROM b.browser
LEFT JOIN cookies AS c
  ON c.question = b.question AND c.vantage IS NOT DISTINCT FROM b.vantage AND c.browser IS NOT DISTINCT FROM b.browser
WHERE b.question IN ('connections', 'lookups')
ORDER BY b.sites DESC, b.vantage NULLS LAST, b.browser NULLS LAST, b.question, t.step
