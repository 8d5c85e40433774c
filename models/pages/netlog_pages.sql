-- The crawled pages of which the browser's own network log was read, which knows of every lookup and handshake.
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
