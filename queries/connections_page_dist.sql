-- Lookups and connections of each page, measured and at the paper's best, one row a page, without saying which. Pages
-- that failed are not in it, nor pages of which connections or addresses are not known, nor pages of which the recording
-- shows only a part (cut off, through a proxy, in a warm browser).
-- paper: figure 3
-- dns: lookups measured; NULL where not known [lookups]
-- tls: TLS connections measured [connections]
-- ip_dns_tls: lookups and connections at best with IP coalescing: distinct addresses
-- origin_dns_tls: lookups and connections at best with ORIGIN coalescing: distinct ASes
SELECT
  c.measured_dns AS dns,
  c.measured_tls AS tls,
  c.ideal_ip AS ip_dns_tls,
  c.ideal_origin AS origin_dns_tls
FROM page_counts AS c
JOIN visits AS v USING (visit_id)
WHERE v.status IS DISTINCT FROM 'failed' AND c.measured_tls IS NOT NULL AND c.ideal_origin IS NOT NULL
  AND NOT coalesce(
    list_has_any(v.quality, ['truncated', 'partial', 'proxied', 'warm_start', 'preserved_log', 'cached_hosts']), false
  )
ORDER BY ALL NULLS FIRST
