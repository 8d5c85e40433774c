-- The visits whose pages are replayed by the browsers' rules: all but the oversized ones.
-- scope: by page
-- kept as: view
-- visit_id: the visit
-- browser: the browser that made it
-- browser_version: its version
-- speaks_http2: the recorder is known to: it did so in this visit, or is a browser that has HTTP/2; else what it saw over
--   HTTP/1.1 may have been offered over HTTP/2. Builds have a browser's name before a hyphen, as chromium-headless-shell.
-- cookies_blocked: it blocked third-party cookies
-- crawled: originset recorded it; else a HAR was imported
-- document_id: the request that the page's document answered, as in page_documents; NULL where none came over the network
-- document_host: its host
SELECT
  v.visit_id,
  browser,
  browser_version,
  v.visit_id IN (SELECT visit_id FROM network_requests WHERE secure AND http_version(protocol) IN ('h2', 'h3'))
    -- Since Chrome 41 and Firefox 36, both of 2015, and Safari 9, which exported no HAR.
    OR coalesce(
      coalesce(TRY_CAST(regexp_extract(browser_version, '^\d+') AS INTEGER), 999)
      >= CASE regexp_extract(browser, '^[a-z]+') WHEN 'chromium' THEN 41 WHEN 'firefox' THEN 36 WHEN 'safari' THEN 0 END,
      false
    ) AS speaks_http2,
  third_party_cookies = 'blocked' AS cookies_blocked,
  source IS NOT DISTINCT FROM 'crawl' AS crawled,
  d.request_id AS document_id,
  d.server AS document_host
FROM visits AS v
LEFT JOIN page_documents AS d ON d.visit_id = v.visit_id
WHERE v.visit_id NOT IN (SELECT visit_id FROM oversized_pages)
