-- TLS connections of all pages, rung by rung: as measured, without same-host duplicates, as the rules of Chromium and
-- Firefox have it with servers as they are (a range, for what recorders left out), deployable (hosts merge where they have an
-- edge or address in common and one presented a certificate that covers both, or were seen on one connection), same edge (or
-- an address in common), one owner (on different machines: one registrable domain, or one presented a certificate that covers
-- both), and at the paper's best. What each merge rests on is in colocation_evidence; hosts between which a 421 was seen never
-- merge above the AS. Every rung counts the same requests: https and wss requests with a known connection, on
-- pages where each of these connections has a known address. Rungs marked aside are not steps between their neighbours.
-- paper: table 1 and figure 3 as totals
-- counts: TLS connections
-- rung: the step; NULL, in the one row that says why, where no page counts
-- aside: true for a rung that is shown for comparison alone
-- total: connections over all pages counted [connections]
-- median: per page [connections]
-- saved: less than measured [connections]
-- saved_pct: the same [percent of measured]
-- saved_pct_low: lower bound of its 95 % interval over sites (bootstrap); NULL with fewer than two sites [percent]
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
      WHEN c.measured_tls IS NULL THEN 'without connection ids'
      WHEN c.chromium_tls_high IS NULL THEN 'with more than 1,000 hosts or connections'
      WHEN c.paired_ideal_origin IS NULL OR c.paired_ideal_edge IS NULL OR c.paired_ideal_deployable IS NULL
        THEN 'with a connection to an unknown address'
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
  SELECT 1 AS step, 'measured' AS rung, false AS aside, measured_tls AS n, site FROM pages WHERE reason IS NULL
  UNION ALL
  SELECT 2, 'without same-host duplicates', false, without_duplicates, site FROM pages WHERE reason IS NULL
  UNION ALL
  SELECT 3, 'Chromium with servers as they are, at most', true, chromium_tls_high, site FROM pages WHERE reason IS NULL
  UNION ALL
  SELECT 4, 'Chromium with servers as they are, at least', true, chromium_tls_low, site FROM pages WHERE reason IS NULL
  UNION ALL
  SELECT 5, 'Firefox with servers as they are, at most', true, firefox_tls_high, site FROM pages WHERE reason IS NULL
  UNION ALL
  SELECT 6, 'Firefox with servers as they are, at least', true, firefox_tls_low, site FROM pages WHERE reason IS NULL
  UNION ALL
  SELECT 7, 'same address (the paper''s ideal IP)', true, paired_ideal_ip, site FROM pages WHERE reason IS NULL
  UNION ALL
  SELECT 8, 'deployable: same edge and certificate', false, paired_ideal_deployable, site FROM pages WHERE reason IS NULL
  UNION ALL
  SELECT 9, 'same edge', false, paired_ideal_edge, site FROM pages WHERE reason IS NULL
  UNION ALL
  SELECT 10, 'one owner, different machines', false, paired_ideal_owner, site FROM pages WHERE reason IS NULL
  UNION ALL
  SELECT
    11,
    CASE colocation
      WHEN 'asn' THEN 'same AS (the paper''s ideal ORIGIN)'
      WHEN 'ip' THEN 'same address'
      ELSE 'same ' || colocation
    END,
    false,
    paired_ideal_origin,
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
  'TLS connections' AS counts,
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
