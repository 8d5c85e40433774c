-- The dataset by the site's rank: visits, sites that count, and medians over these sites, each with its average page. The last
-- row, without a bucket, has sites without a rank.
-- paper: table 1
-- parameter bucket = 100000: ranks in a bucket
-- vantage: the vantage; vantages are not pooled
-- browser: the browser; browsers are not pooled
-- ranks_from: first rank of the bucket
-- visits: all visits, also those that do not count
-- requests: median of the requests that reached the network
-- requests_sites: sites that this median is of: those whose servers are known
-- load_ms: median of the load event [ms]
-- load_sites: sites that this median is of: those of figure 9a
-- dns: median of the measured lookups [lookups]
-- dns_sites: sites that this median is of: those of the ladder of DNS lookups
-- tls: median of the measured TLS connections [connections]
-- tls_sites: sites that this median is of: those of the ladder of TLS connections
WITH
site_numbers AS (
  SELECT
    v.vantage, v.browser, (v.rank - 1) // $bucket * $bucket + 1 AS ranks_from, v.question, v.site,
    sum(v.weight * c.requests ORDER BY v.visit_id) AS requests,
    sum(v.weight * t.measured_ms ORDER BY v.visit_id) AS load_ms,
    sum(v.weight * c.measured_dns ORDER BY v.visit_id) AS dns,
    sum(v.weight * c.measured_tls ORDER BY v.visit_id) AS tls
  FROM counted_visits AS v
  JOIN page_counts AS c ON c.visit_id = v.visit_id
  JOIN page_load_times AS t ON t.visit_id = v.visit_id
  GROUP BY ALL
),
medians AS (
  SELECT
    vantage, browser, ranks_from,
    median(requests) FILTER (question = 'servers') AS requests,
    count(*) FILTER (question = 'servers') AS requests_sites,
    median(load_ms) FILTER (question = 'load_times') AS load_ms,
    count(*) FILTER (question = 'load_times') AS load_sites,
    median(dns) FILTER (question = 'lookups') AS dns,
    count(*) FILTER (question = 'lookups') AS dns_sites,
    median(tls) FILTER (question = 'connections') AS tls,
    count(*) FILTER (question = 'connections') AS tls_sites
  FROM site_numbers
  GROUP BY ALL
),
visit_counts AS (
  SELECT vantage, browser, (rank - 1) // $bucket * $bucket + 1 AS ranks_from, count(*) AS visits
  FROM selected_visits
  GROUP BY ALL
)
SELECT
  n.vantage, n.browser, n.ranks_from, n.visits,
  m.requests,
  coalesce(m.requests_sites, 0) AS requests_sites,
  m.load_ms,
  coalesce(m.load_sites, 0) AS load_sites,
  m.dns,
  coalesce(m.dns_sites, 0) AS dns_sites,
  m.tls,
  coalesce(m.tls_sites, 0) AS tls_sites
FROM visit_counts AS n
LEFT JOIN medians AS m
  ON m.vantage IS NOT DISTINCT FROM n.vantage
  AND m.browser IS NOT DISTINCT FROM n.browser
  AND m.ranks_from IS NOT DISTINCT FROM n.ranks_from
ORDER BY n.vantage NULLS LAST, n.browser NULLS LAST, n.ranks_from NULLS LAST
