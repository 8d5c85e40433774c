-- Page load times, measured and modelled. Modelled times are not measurements; the paper's authors found no effect on load time
-- in their live test. First by the causal timeline, in which nothing is sent before its connection is established, then by the
-- paper's. Each site counts with its average page. All rows are of the same sites.
-- paper: figure 9a (the rows of the paper's timeline)
-- vantage: the vantage; vantages are not pooled
-- browser: the browser; browsers are not pooled
-- model: measured, IP coalescing, ORIGIN coalescing, or ORIGIN coalescing at one provider alone; and by which timeline
-- sites: sites
-- p25: first quartile [ms]
-- p50: median [ms]
-- p75: third quartile [ms]
-- p90: 90th percentile [ms]
-- p99: 99th percentile [ms]
WITH
modelled_times AS (
  SELECT
    visit_id,
    unnest([
      {'step': 1, 'model': 'measured', 'ms': measured_ms},
      {'step': 2, 'model': 'IP coalescing', 'ms': ip_ms},
      {'step': 3, 'model': 'ORIGIN coalescing', 'ms': origin_ms},
      {'step': 4, 'model': 'ORIGIN coalescing, one provider', 'ms': provider_ms},
      {'step': 5, 'model': 'IP coalescing, the paper''s timeline', 'ms': paper_ip_ms},
      {'step': 6, 'model': 'ORIGIN coalescing, the paper''s timeline', 'ms': paper_origin_ms},
      {'step': 7, 'model': 'ORIGIN coalescing, one provider, the paper''s timeline', 'ms': paper_provider_ms}
    ], recursive := true)
  FROM page_load_times
),
site_times AS (
  SELECT v.vantage, v.browser, v.site, t.step, t.model, sum(v.weight * t.ms ORDER BY v.visit_id) AS ms
  FROM counted_visits AS v
  JOIN modelled_times AS t ON t.visit_id = v.visit_id
  WHERE v.question = 'load_times' AND t.ms IS NOT NULL
  GROUP BY ALL
)
SELECT
  vantage,
  browser,
  model,
  count(*) AS sites,
  quantile_cont(ms, 0.25) AS p25,
  quantile_cont(ms, 0.50) AS p50,
  quantile_cont(ms, 0.75) AS p75,
  quantile_cont(ms, 0.90) AS p90,
  quantile_cont(ms, 0.99) AS p99
FROM site_times
GROUP BY vantage, browser, step, model
ORDER BY vantage NULLS LAST, browser NULLS LAST, step
