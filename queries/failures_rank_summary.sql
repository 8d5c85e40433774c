-- Visits that failed, by rank of the site and kind of error. A last row without a bucket is for sites without a rank.
-- paper: table 1 (its sites that failed)
-- parameter bucket = 100000: ranks in a bucket
-- ranks_from: first rank of the bucket
-- visits: visits
-- failed: visits that failed
-- failed_pct: the same [percent of visits]
-- partial: visits that were cut off; what was seen of them counts
-- dns: failed: the name did not resolve
-- connect: failed: no connection
-- tls: failed: no TLS session
-- http: failed: an error in place of the page
-- timeout: failed: the page did not load in time
-- other: failed otherwise, or for a reason that is not known
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
