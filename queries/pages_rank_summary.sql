-- The dataset by rank of the site: visits, those that loaded, and medians over these. A last row without a bucket is for
-- sites without a rank.
-- paper: table 1
-- parameter bucket = 100000: ranks in a bucket
-- ranks_from: first rank of the bucket
-- visits: visits
-- loaded: visits that did not fail
-- requests: median of requests that reached the network
-- load_ms: median of the load event [ms]
-- dns: median of lookups measured [lookups]
-- tls: median of TLS connections measured [connections]
SELECT
  (v.rank - 1) // $bucket * $bucket + 1 AS ranks_from,
  count(*) AS visits,
  count(*) FILTER (v.status IS DISTINCT FROM 'failed') AS loaded,
  median(c.requests) FILTER (v.status IS DISTINCT FROM 'failed') AS requests,
  median(v.load_ms) FILTER (v.status IS DISTINCT FROM 'failed') AS load_ms,
  median(c.measured_dns) FILTER (v.status IS DISTINCT FROM 'failed') AS dns,
  median(c.measured_tls) FILTER (v.status IS DISTINCT FROM 'failed') AS tls
FROM visits AS v
JOIN page_counts AS c USING (visit_id)
GROUP BY ranks_from
ORDER BY ranks_from NULLS LAST
