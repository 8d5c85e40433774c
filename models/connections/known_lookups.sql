-- The lookups of the page, completed by live ones (study enrich --live) for the names that the recording has no addresses of.
-- The times of live lookups are NULL, because they are not times of the page load.
-- scope: by page
-- visit_id: the visit
-- host: the name; the other columns are those of the table dns_queries
SELECT
  * REPLACE (
    CASE WHEN source IS DISTINCT FROM 'live' THEN asked_ms END AS asked_ms,
    CASE WHEN source IS DISTINCT FROM 'live' THEN took_ms END AS took_ms
  )
FROM dns_queries AS q
WHERE
  source IS DISTINCT FROM 'live'
  OR NOT EXISTS (
    FROM dns_queries AS recorded
    WHERE
      recorded.visit_id = q.visit_id
      AND recorded.host = q.host
      AND recorded.source IS DISTINCT FROM 'live'
      AND recorded.rtype IN ('A', 'AAAA')
  )
