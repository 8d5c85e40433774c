-- The visits that queries are about: those in the connection's variable selected_visits, or all visits of landing pages if
-- it is NULL or not set. SET VARIABLE selected_visits = ARRAY(SELECT visit_id FROM visits WHERE ...) selects others. Which
-- selected visits count for a question is in counted_visits.
-- scope: over the study
-- kept as: view
-- visit_id: the visit
-- vantage: the name of the place the crawl ran from
-- browser: chromium, firefox, safari, ...
-- site: the site list's entry, or the host of the page's document; the visit_id if neither is known
-- page: the requested URL, or the document's; the visit_id if neither is known
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
