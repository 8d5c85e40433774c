-- For each page with a lookup: how many hosts of its requests were looked up, and how many lookups these same hosts need under
-- each ideal and by each browser's rules. So measured and modelled lookups are of the same hosts. A host that was answered from
-- a DNS cache is in neither.
-- scope: by page
-- paper: sections 3.2 and 4.2
-- page: the page
-- paired_dns: hosts of its network requests that were looked up
-- repeated_dns: lookups of these hosts after the first of each
-- unused_dns: lookups of names that no network request of the page went to
-- paired_ideal_ip_dns: distinct server addresses of these hosts' first requests; NULL if one is not known
-- paired_ideal_origin_dns: distinct server keys of these hosts' first requests; NULL if one is not known
-- paired_chromium_dns: how many of these hosts Chromium looks up, with servers as they are; NULL if not known for one of them
-- paired_chromium_cookies_blocked_dns: how many Chromium looks up with third-party cookies blocked; NULL likewise
-- paired_firefox_dns: how many Firefox looks up; NULL likewise
WITH
hosts_of_pages AS (
  SELECT
    page, host,
    sum(lookups) AS lookups,
    arg_min(pair, request_id) FILTER (server_ip IS NOT NULL AND host IS NOT NULL) AS pair
  FROM host_connections
  GROUP BY page, host
),
resolver_jobs AS (
  SELECT p.page, q.host, count(DISTINCT q.lookup_id) AS lookups
  FROM dns_queries AS q
  JOIN pages AS p ON p.visit_id = q.visit_id
  WHERE q.source = 'browser' AND q.lookup_id IS NOT NULL AND p.page IN (SELECT page FROM netlog_pages)
  GROUP BY p.page, q.host
),
looked_up_hosts AS (
  SELECT j.page, j.lookups, r.host, r.pair
  FROM resolver_jobs AS j
  LEFT JOIN hosts_of_pages AS r ON r.page = j.page AND r.host = j.host
  UNION ALL
  SELECT page, lookups, host, pair FROM hosts_of_pages WHERE lookups > 0 AND page NOT IN (SELECT page FROM netlog_pages)
),
servers_of_lookups AS (
  SELECT
    l.page, l.lookups, l.host,
    s.address, s.server,
    n.chromium_dns, n.chromium_cookies_blocked_dns, n.firefox_dns
  FROM looked_up_hosts AS l
  JOIN pages AS p ON p.page = l.page
  LEFT JOIN numbered_pairs AS s ON s.pair = l.pair
  LEFT JOIN page_names AS n ON n.visit_id = p.visit_id AND n.host = l.host
)
SELECT
  page,
  count(host) AS paired_dns,
  coalesce(sum(lookups - 1) FILTER (host IS NOT NULL), 0) AS repeated_dns,
  coalesce(sum(lookups) FILTER (host IS NULL), 0) AS unused_dns,
  CASE WHEN count(address) = count(host) THEN count(DISTINCT address) END AS paired_ideal_ip_dns,
  CASE WHEN count(address) = count(host) THEN count(DISTINCT server) END AS paired_ideal_origin_dns,
  CASE WHEN count(chromium_dns) = count(host) THEN count(*) FILTER (chromium_dns) END AS paired_chromium_dns,
  CASE WHEN count(chromium_cookies_blocked_dns) = count(host) THEN count(*) FILTER (chromium_cookies_blocked_dns) END
    AS paired_chromium_cookies_blocked_dns,
  CASE WHEN count(firefox_dns) = count(host) THEN count(*) FILTER (firefox_dns) END AS paired_firefox_dns
FROM servers_of_lookups
GROUP BY page
