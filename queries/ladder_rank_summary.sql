-- The ladder by the site's rank: for the first thousand sites of the list, for the rest of the first ten thousand, and so
-- on. The last group, without bounds, has sites without a rank. Each site counts with its average page, as in
-- ladder_summary.
-- vantage: the vantage; vantages are not pooled
-- browser: the browser; browsers are not pooled
-- counts: TLS connections or DNS lookups
-- ranks_from: first rank of the group
-- ranks_to: last rank of the group; NULL for ranks above a million, and for sites without a rank
-- rung: the rung
-- comparison_only: the rung is for comparison only
-- total: over all sites counted [connections or lookups]
-- median: per site [connections or lookups]
-- saved: measured minus total, over all sites counted [connections or lookups]
-- saved_pct: the same [percent of measured]
-- saved_pct_low: lower bound of its 95 % confidence interval over sites; NULL with fewer than two sites [percent]
-- saved_pct_high: upper bound of this interval [percent]
-- site_saved_pct: median over sites of the share that a site saves of its own connections or lookups [percent]
-- sites: sites counted
-- pages: pages counted
WITH
sites_with_bounds AS (
  SELECT s.*, g.ranks_from, g.ranks_to
  FROM site_rungs AS s
  LEFT JOIN (
    VALUES (1, 1000), (1001, 10000), (10001, 100000), (100001, 1000000), (1000001, NULL)
  ) AS g(ranks_from, ranks_to)
    ON s.rank BETWEEN g.ranks_from AND coalesce(g.ranks_to, s.rank)
)
SELECT
  vantage,
  browser,
  CASE question WHEN 'connections' THEN 'TLS connections' ELSE 'DNS lookups' END AS counts,
  ranks_from,
  ranks_to,
  rung,
  comparison_only,
  round(sum(n ORDER BY site), 2) AS total,
  round(median(n), 2) AS median,
  round(sum(measured - n ORDER BY site), 2) AS saved,
  round(100.0 * sum(measured - n ORDER BY site) / nullif(sum(measured ORDER BY site), 0), 2) AS saved_pct,
  round(saved_pct_interval(list(measured ORDER BY site), list(n ORDER BY site))[1], 2) AS saved_pct_low,
  round(saved_pct_interval(list(measured ORDER BY site), list(n ORDER BY site))[2], 2) AS saved_pct_high,
  round(median(100.0 * (measured - n) / nullif(measured, 0)), 2) AS site_saved_pct,
  count(*) AS sites,
  sum(pages)::BIGINT AS pages
FROM sites_with_bounds
GROUP BY vantage, browser, question, step, ranks_from, ranks_to, rung, comparison_only
HAVING count(n) = count(*)
ORDER BY vantage NULLS LAST, browser NULLS LAST, question, ranks_from NULLS LAST, step
