-- Pages whose load time could not be modelled, by reason.
-- paper: figure 9a (its pages that were not modelled)
-- vantage: the vantage; vantages are not pooled
-- browser: the browser; browsers are not pooled
-- reason: why no visit of the page counts; NULL for pages that were modelled
-- pages: pages
WITH page_reasons AS (
  SELECT
    v.vantage, v.browser, v.site, v.page,
    CASE WHEN NOT bool_or(b.counted) THEN min(b.reason) END AS reason
  FROM selected_visits AS v
  JOIN page_basis AS b ON b.visit_id = v.visit_id
  WHERE b.question = 'load_times'
  GROUP BY ALL
)
SELECT vantage, browser, reason, count(*) AS pages
FROM page_reasons
GROUP BY ALL
ORDER BY vantage NULLS LAST, browser NULLS LAST, reason NULLS FIRST
