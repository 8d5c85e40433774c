-- DNS lookups of all pages, as measured and at the paper's best: one lookup an AS. A best case: browsers that coalesce
-- by address still look every name up.
-- paper: table 1 and figure 3 as totals
-- counts: DNS lookups
-- rung: the step; NULL, in the one row that says why, where no page counts
-- aside: true for a rung that is shown for comparison alone
-- total: lookups over all pages counted [lookups]
-- median: per page [lookups]
-- saved: less than measured; below zero where warm caches hid lookups from the recorder [lookups]
-- saved_pct: the same [percent of measured]
-- saved_pct_low: lower bound of its 95 % interval over sites (saved_pct_interval); NULL with fewer than two sites [percent]
-- saved_pct_high: upper bound likewise [percent]
-- pages: pages counted
-- left_out: pages not counted
-- left_out_why: how many for which reason
WITH
pages AS (
  SELECT
    c.*,
    coalesce(v.site, c.visit_id) AS site,
    CASE
      WHEN v.challenge THEN 'with a bot challenge in place of the page'
      WHEN v.status = 'failed' THEN 'failed'
      WHEN list_contains(v.quality, 'truncated') THEN 'in a file that was cut off'
      WHEN list_contains(v.quality, 'partial') THEN 'recorded in part'
      WHEN list_contains(v.quality, 'proxied') THEN 'recorded through a proxy'
      WHEN list_has_any(v.quality, ['warm_start', 'preserved_log']) THEN 'recorded with connections open from before'
      WHEN list_contains(v.quality, 'cached_hosts') THEN 'with hosts answered from the cache alone'
      WHEN list_contains(v.quality, 'warm_sockets') THEN 'with connections from before their first use, and so lookups'
      WHEN c.measured_dns IS NULL THEN 'without recorded lookups'
      WHEN c.ideal_origin IS NULL THEN 'without any known address'
      WHEN c.left_out > 0 THEN 'with a request to an unknown address'
    END AS reason
  FROM page_counts AS c
  JOIN visits AS v USING (visit_id)
),
reasons AS (
  SELECT reason, count(*) AS n FROM pages WHERE reason IS NOT NULL GROUP BY reason
),
basis AS (
  SELECT
    (SELECT count(*) FROM pages WHERE reason IS NULL) AS pages,
    (SELECT count(*) FROM pages WHERE reason IS NOT NULL) AS left_out,
    (SELECT string_agg(n || ' ' || reason, ', ' ORDER BY reason) FROM reasons) AS left_out_why
),
key AS (
  SELECT coalesce(
    (SELECT parameters ->> '$.colocation' FROM runs WHERE command IN ('analyze', 'model') ORDER BY run_id DESC LIMIT 1),
    'asn'
  ) AS colocation
),
rungs AS (
  SELECT 1 AS step, 'measured' AS rung, false AS aside, measured_dns AS n, site FROM pages WHERE reason IS NULL
  UNION ALL
  SELECT 2, 'same address (the paper''s ideal IP)', true, ideal_ip, site FROM pages WHERE reason IS NULL
  UNION ALL
  SELECT
    3,
    CASE colocation
      WHEN 'asn' THEN 'same AS (the paper''s ideal ORIGIN)'
      WHEN 'ip' THEN 'same address'
      ELSE 'same ' || colocation
    END,
    false,
    ideal_origin,
    site
  FROM pages, key
  WHERE reason IS NULL
),
totals AS (
  SELECT step, rung, aside, sum(n)::BIGINT AS total, median(n)::DOUBLE AS median FROM rungs GROUP BY step, rung, aside
),
by_site AS (
  SELECT step, site, sum(n)::BIGINT AS n FROM rungs GROUP BY step, site
),
intervals AS (
  SELECT r.step, saved_pct_interval(list(m.n ORDER BY r.site), list(r.n ORDER BY r.site)) AS bounds
  FROM by_site AS r
  JOIN by_site AS m ON m.step = 1 AND m.site = r.site
  GROUP BY r.step
)
SELECT
  'DNS lookups' AS counts,
  rung,
  aside,
  total,
  median,
  first_value(total) OVER steps - total AS saved,
  round(100.0 * (first_value(total) OVER steps - total) / nullif(first_value(total) OVER steps, 0), 2) AS saved_pct,
  round(bounds[1], 2) AS saved_pct_low,
  round(bounds[2], 2) AS saved_pct_high,
  pages,
  left_out,
  left_out_why
FROM (SELECT * FROM basis WHERE pages + left_out > 0)
LEFT JOIN (SELECT * FROM totals JOIN intervals USING (step)) ON true
WINDOW steps AS (ORDER BY step ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
ORDER BY step
