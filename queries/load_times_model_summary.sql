-- Page load times, measured and modelled: models, not measurements; the authors' own live test found no effect on load time.
-- First by the causal timeline, in which nothing is sent before its connection is established, then by the paper's. Over the
-- pages that could be modelled, the same for every row.
-- paper: figure 9a (the rows of the paper's timeline)
-- model: measured, IP coalescing, ORIGIN coalescing, or ORIGIN coalescing at one provider alone; and by which timeline
-- pages: pages
-- p25: first quartile [ms]
-- p50: median [ms]
-- p75: third quartile [ms]
-- p90: 90th percentile [ms]
-- p99: 99th percentile [ms]
WITH times AS (
  SELECT 1 AS step, 'measured' AS model, measured_ms AS ms FROM page_load_times WHERE left_out_reason IS NULL
  UNION ALL
  SELECT 2, 'IP coalescing', ip_ms FROM page_load_times WHERE left_out_reason IS NULL
  UNION ALL
  SELECT 3, 'ORIGIN coalescing', origin_ms FROM page_load_times WHERE left_out_reason IS NULL
  UNION ALL
  SELECT 4, 'ORIGIN coalescing, one provider', provider_ms FROM page_load_times WHERE provider_ms IS NOT NULL
  UNION ALL
  SELECT 5, 'IP coalescing, the paper''s timeline', paper_ip_ms FROM page_load_times WHERE left_out_reason IS NULL
  UNION ALL
  SELECT 6, 'ORIGIN coalescing, the paper''s timeline', paper_origin_ms FROM page_load_times WHERE left_out_reason IS NULL
  UNION ALL
  SELECT 7, 'ORIGIN coalescing, one provider, the paper''s timeline', paper_provider_ms
  FROM page_load_times
  WHERE paper_provider_ms IS NOT NULL
)
SELECT
  model,
  count(*) AS pages,
  quantile_cont(ms, 0.25) AS p25,
  quantile_cont(ms, 0.50) AS p50,
  quantile_cont(ms, 0.75) AS p75,
  quantile_cont(ms, 0.90) AS p90,
  quantile_cont(ms, 0.99) AS p99
FROM times
GROUP BY step, model
ORDER BY step
