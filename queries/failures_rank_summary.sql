-- Visits that failed, by the site's rank and the kind of error. The last row, without a bucket, has sites without a rank.
-- paper: table 1 (its sites that failed)
-- parameter bucket = 100000: ranks in a bucket
-- ranks_from: first rank of the bucket
-- visits: visits
-- failed: visits that failed
-- failed_pct: the same [percent of visits]
-- partial: visits that were cut off; what was recorded of them counts
-- dns: visits that failed because the name did not resolve
-- connect: visits that failed because no connection was established
-- tls: visits that failed in the TLS handshake
-- http: visits that failed because the server answered with an error
-- timeout: visits that failed because the page did not load in time
-- other: visits that failed for another reason, or one that is not known
SELECT
  (rank - 1) // $bucket * $bucket + 1 AS ranks_from,
  count(*) AS visits,
  count(*) FILTER (status = 'failed') AS failed,
  100.0 * count(*) FILTER (status = 'failed') / count(*) AS failed_pct,
  count(*) FILTER (status = 'partial') AS partial,
  count(*) FILTER (status = 'failed' AND error = 'dns') AS dns,
  count(*) FILTER (status = 'failed' AND error = 'connect') AS connect,
  count(*) FILTER (status = 'failed' AND error = 'tls') AS tls,
  count(*) FILTER (status = 'failed' AND error = 'http') AS http,
  count(*) FILTER (status = 'failed' AND error = 'timeout') AS timeout,
  count(*) FILTER (status = 'failed' AND coalesce(error, '') NOT IN ('dns', 'connect', 'tls', 'http', 'timeout')) AS other
FROM visits
GROUP BY ranks_from
ORDER BY ranks_from NULLS LAST
