-- The visits that a question is asked of: those of landing pages, or those of the variable selected_visits, a list of visit
-- ids: `SET VARIABLE selected_visits = (SELECT list(visit_id) FROM visits WHERE vantage = 'ams')`. A visit is one load of a
-- page, a page is a URL of a site.
-- kept as: view
-- visit_id: the visit
-- vantage: its vantage
-- browser: its browser
-- site: its site; the visit itself where it has none
-- page: its page: the URL that was asked for, else the document's
-- page_kind: landing or internal
-- rank: the site's rank
SELECT
  visit_id, vantage, browser,
  coalesce(site, visit_id) AS site,
  coalesce(url, final_url, visit_id) AS page,
  page_kind, rank
FROM visits
WHERE
  (getvariable('selected_visits') IS NULL AND page_kind IS DISTINCT FROM 'internal')
  OR visit_id IN (SELECT unnest(getvariable('selected_visits')::VARCHAR[]))
