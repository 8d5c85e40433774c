-- How much each open choice of the models matters: results with one choice changed at a time. Load times are a model; the
-- authors' own live test found no effect. Empty until the models have run with --sensitivity.
-- paper: section 4
-- vantage: the vantage; each stands by itself
-- browser: the browser; each stands by itself
-- parameter: the choice
-- value: what was chosen
-- chosen: as in this study's other tables
-- median_ideal_origin: TLS connections of a site's average page at the ORIGIN ideal, median [connections]
-- connections_saved: connections saved over all sites, each with its average page [connections]
-- connections_saved_more: the same, more than as chosen [connections]
-- connections_saved_deployable: connections saved at the deployable rung, where evidence connects hosts [connections]
-- sites_unchanged_pct: sites whose certificate needs no addition [percent]
-- median_origin_ms: load event under ORIGIN coalescing, median [ms]
-- load_saved_pct: load time saved over all pages [percent of what is saved as chosen]
WITH chosen AS (
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
LEFT JOIN chosen AS c
  ON c.parameter = m.parameter
  AND c.vantage IS NOT DISTINCT FROM m.vantage
  AND c.browser IS NOT DISTINCT FROM m.browser
ORDER BY m.vantage NULLS LAST, m.browser NULLS LAST, m.parameter, m.chosen DESC, m.value
