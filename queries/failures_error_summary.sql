-- Visits that failed or were cut off, by kind of error and the browser's error code.
-- status: partial or failed
-- error: dns, connect, tls, http, timeout, crash, empty, ...
-- error_code: the browser's code
-- visits: visits
-- sites: distinct sites
SELECT
  status,
  error,
  error_code,
  count(*) AS visits,
  count(DISTINCT site) AS sites
FROM visits
WHERE status IN ('failed', 'partial')
GROUP BY ALL
ORDER BY visits DESC, status, error NULLS LAST, error_code NULLS LAST
