-- Lookups and connections of each site's average page, measured and under the paper's ideals: one row for each site, without
-- its name. Connections are NULL if no page of the site counts for connections, and lookups if none counts for lookups.
-- paper: figure 3
-- vantage: the vantage; vantages are not pooled
-- browser: the browser; browsers are not pooled
-- dns: lookups measured [lookups]
-- tls: TLS connections measured [connections]
-- ip_dns_tls: connections under ideal IP coalescing: distinct addresses [connections]
-- origin_dns_tls: connections under ideal ORIGIN coalescing: distinct ASes [connections]
-- ip_dns: lookups under ideal IP coalescing: distinct addresses of the hosts that were looked up [lookups]
-- origin_dns: lookups under ideal ORIGIN coalescing: distinct ASes of these hosts [lookups]
WITH site_counts AS (
  SELECT
    v.question, v.vantage, v.browser, v.site,
    sum(v.weight * c.measured_dns ORDER BY v.visit_id) AS dns,
    sum(v.weight * c.measured_tls ORDER BY v.visit_id) AS tls,
    sum(v.weight * c.paired_ideal_ip ORDER BY v.visit_id) AS ip_dns_tls,
    sum(v.weight * c.paired_ideal_origin ORDER BY v.visit_id) AS origin_dns_tls,
    sum(v.weight * c.paired_ideal_ip_dns ORDER BY v.visit_id) AS ip_dns,
    sum(v.weight * c.paired_ideal_origin_dns ORDER BY v.visit_id) AS origin_dns
  FROM counted_visits AS v
  JOIN page_counts AS c ON c.visit_id = v.visit_id
  WHERE v.question IN ('connections', 'lookups')
  GROUP BY ALL
)
SELECT
  vantage,
  browser,
  any_value(dns) FILTER (question = 'lookups') AS dns,
  any_value(tls) FILTER (question = 'connections') AS tls,
  any_value(ip_dns_tls) FILTER (question = 'connections') AS ip_dns_tls,
  any_value(origin_dns_tls) FILTER (question = 'connections') AS origin_dns_tls,
  any_value(ip_dns) FILTER (question = 'lookups') AS ip_dns,
  any_value(origin_dns) FILTER (question = 'lookups') AS origin_dns
FROM site_counts
GROUP BY vantage, browser, site
ORDER BY ALL NULLS FIRST
