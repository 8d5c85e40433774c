-- Lookups and connections of each page, measured and at the paper's best, one row a page, without saying which. Pages
-- that failed are not in it, nor pages of which connections or addresses are not known.
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
ORDER BY ALL NULLS FIRST
