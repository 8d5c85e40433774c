-- The visits whose pages are replayed by the browsers' rules: all but the oversized ones.
-- kept as: view
-- visit_id: the visit
-- browser: the browser that made it
-- cookies_blocked: it blocked third-party cookies
-- crawled: originset recorded it; else a HAR was imported
SELECT
  visit_id,
  browser,
  third_party_cookies = 'blocked' AS cookies_blocked,
  source IS NOT DISTINCT FROM 'crawl' AS crawled
FROM visits
WHERE visit_id NOT IN (SELECT visit_id FROM oversized_pages)
