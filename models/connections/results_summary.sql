-- The results of one run of the models, one row for each vantage and browser, to compare runs that differ in one parameter. The
-- pages are those of the ladder and of figure 9a. Each site counts with its average page.
-- scope: over the study
-- vantage: the vantage
-- browser: the browser
-- pages: pages counted for their connections; all columns are those of the table model_sensitivity
WITH
site_results AS (
  SELECT
    v.question, v.vantage, v.browser, v.site,
    count(DISTINCT v.page) AS pages,
    sum(v.weight * c.measured_tls ORDER BY v.visit_id) AS measured_tls,
    sum(v.weight * c.paired_ideal_origin ORDER BY v.visit_id) AS ideal_origin,
    sum(v.weight * c.paired_ideal_deployable ORDER BY v.visit_id) AS ideal_deployable,
    sum(v.weight * t.measured_ms ORDER BY v.visit_id) AS measured_ms,
    sum(v.weight * t.origin_ms ORDER BY v.visit_id) AS origin_ms
  FROM counted_visits AS v
  JOIN page_counts AS c ON c.visit_id = v.visit_id
  JOIN page_load_times AS t ON t.visit_id = v.visit_id
  WHERE v.question IN ('connections', 'load_times')
  GROUP BY ALL
),
connection_results AS (
  SELECT
    vantage, browser,
    sum(pages)::BIGINT AS pages,
    median(measured_tls) AS median_measured_tls,
    median(ideal_origin) AS median_ideal_origin,
    round(sum(measured_tls - ideal_origin ORDER BY site), 6) AS connections_saved,
    round(sum(measured_tls - ideal_deployable ORDER BY site), 6) AS connections_saved_deployable
  FROM site_results
  WHERE question = 'connections'
  GROUP BY ALL
),
load_time_results AS (
  SELECT
    vantage, browser,
    sum(pages)::BIGINT AS timelines,
    median(measured_ms) AS median_load_ms,
    median(origin_ms) AS median_origin_ms,
    round(sum(measured_ms - origin_ms ORDER BY site), 6) AS load_saved_ms
  FROM site_results
  WHERE question = 'load_times'
  GROUP BY ALL
),
-- The certificate of a site is the same for all vantages and browsers.
certificate_results AS (
  SELECT 100.0 * avg((additions = 0)::INTEGER) AS sites_unchanged_pct, coalesce(sum(additions), 0)::BIGINT AS additions
  FROM site_certificates
  WHERE additions IS NOT NULL
),
groups AS (
  SELECT DISTINCT vantage, browser FROM selected_visits
)
SELECT
  g.vantage, g.browser,
  coalesce(c.pages, 0) AS pages,
  c.median_measured_tls, c.median_ideal_origin,
  coalesce(c.connections_saved, 0) AS connections_saved,
  coalesce(c.connections_saved_deployable, 0) AS connections_saved_deployable,
  s.sites_unchanged_pct, s.additions,
  coalesce(l.timelines, 0) AS timelines,
  l.median_load_ms, l.median_origin_ms,
  coalesce(l.load_saved_ms, 0) AS load_saved_ms
FROM groups AS g
LEFT JOIN connection_results AS c ON c.vantage IS NOT DISTINCT FROM g.vantage AND c.browser IS NOT DISTINCT FROM g.browser
LEFT JOIN load_time_results AS l ON l.vantage IS NOT DISTINCT FROM g.vantage AND l.browser IS NOT DISTINCT FROM g.browser
CROSS JOIN certificate_results AS s
