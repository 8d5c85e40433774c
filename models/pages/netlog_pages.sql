-- The crawled pages with a NetLog, the browser's own network log, which has every lookup and every handshake.
-- scope: by page
-- kept as: view
-- page: the page
SELECT p.page
FROM visits AS v
JOIN pages AS p ON p.visit_id = v.visit_id
WHERE
  v.source IS NOT DISTINCT FROM 'crawl'
  AND (
    v.visit_id IN (SELECT visit_id FROM dns_queries WHERE source = 'browser')
    OR v.visit_id IN (SELECT visit_id FROM connections WHERE source = 'netlog')
  )
