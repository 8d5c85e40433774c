-- The visits that a question is asked of: those that the connection's variable selected_visits lists, else landing pages.
-- SET VARIABLE selected_visits = ARRAY(SELECT visit_id FROM visits WHERE ...) selects others; NULL is as if it were not
-- set. Whether a selected visit counts is another matter.
-- scope: over the study
-- kept as: view
-- visit_id: the visit
-- vantage: the name of the place the crawl ran from
-- browser: chromium, firefox, safari, ...
-- site: the site list's entry, or the host of the page's document; the visit where neither is known
-- page: the URL that was asked for, else the document's; the visit where neither is known
-- page_kind: landing or internal
-- rank: the site's rank in its list
SELECT
  visit_id,
  vantage,
  browser,
  coalesce(site, visit_id) AS site,
  coalesce(url, final_url, visit_id) AS page,
  page_kind,
  rank
FROM visits
WHERE
  CASE
    WHEN getvariable('selected_visits') IS NULL THEN page_kind IS DISTINCT FROM 'internal'
    ELSE visit_id IN (SELECT unnest(getvariable('selected_visits')::VARCHAR[]))
  END
