-- How the results depend on each parameter of the models: one parameter is changed at a time. Load times are modelled; the
-- paper's authors found no effect in their live test. Empty until study model --sensitivity has run.
-- paper: section 4
-- vantage: the vantage; vantages are not pooled
-- browser: the browser; browsers are not pooled
-- parameter: the parameter
-- value: its value
-- chosen: this study's other tables were computed with this value
-- median_ideal_origin: median over sites of the TLS connections of a site's average page under ideal ORIGIN [connections]
-- connections_saved: connections saved over all sites, each with its average page [connections]
-- connections_saved_more: connections_saved minus that of the chosen value [connections]
-- connections_saved_deployable: connections saved at the deployable rung, where hosts merge only with evidence [connections]
-- sites_unchanged_pct: sites whose certificate needs no addition [percent]
-- median_origin_ms: median of the modelled load times under ORIGIN coalescing [ms]
-- load_saved_pct: load time saved over all pages [percent of what the chosen value saves]
WITH chosen_results AS (
  SELECT
    vantage,
    browser,
    parameter,
    any_value(connections_saved) AS connections_saved,
    any_value(load_saved_ms) AS load_saved_ms
  FROM model_sensitivity
  WHERE chosen
  GROUP BY ALL
)
SELECT
  m.vantage,
  m.browser,
  m.parameter,
  m.value,
  m.chosen,
  m.median_ideal_origin,
  m.connections_saved,
  m.connections_saved - c.connections_saved AS connections_saved_more,
  m.connections_saved_deployable,
  m.sites_unchanged_pct,
  m.median_origin_ms,
  100.0 * m.load_saved_ms / nullif(c.load_saved_ms, 0) AS load_saved_pct
FROM model_sensitivity AS m
LEFT JOIN chosen_results AS c
  ON c.parameter = m.parameter
  AND c.vantage IS NOT DISTINCT FROM m.vantage
  AND c.browser IS NOT DISTINCT FROM m.browser
ORDER BY m.vantage NULLS LAST, m.browser NULLS LAST, m.parameter, m.chosen DESC, m.value
