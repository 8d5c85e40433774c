-- Load times of each site's average page, measured and by the paper's timeline: one row for each site, without its name.
-- Modelled times are not measurements; the paper's authors found no effect in their live test. Only pages with all modelled
-- times count.
-- paper: figure 9a
-- vantage: the vantage; vantages are not pooled
-- browser: the browser; browsers are not pooled
-- page_load_times: recorded load event [ms]
-- ip_page_load_times: modelled under IP coalescing [ms]
-- as_page_load_times: modelled under ORIGIN coalescing [ms]
-- cf_only_page_load_times: modelled if one provider alone coalesces; NULL unless study model was given one [ms]
SELECT
  v.vantage,
  v.browser,
  sum(v.weight * t.measured_ms ORDER BY v.visit_id) AS page_load_times,
  sum(v.weight * t.paper_ip_ms ORDER BY v.visit_id) AS ip_page_load_times,
  sum(v.weight * t.paper_origin_ms ORDER BY v.visit_id) AS as_page_load_times,
  sum(v.weight * t.paper_provider_ms ORDER BY v.visit_id) AS cf_only_page_load_times
FROM counted_visits AS v
JOIN page_load_times AS t ON t.visit_id = v.visit_id
WHERE v.question = 'load_times'
GROUP BY v.vantage, v.browser, v.site
ORDER BY ALL NULLS FIRST
