-- Of each page with a lookup: the hosts of its requests that were looked up, and what these hosts alone need, so that lookups and
-- what would be left of them are of the same hosts. A host that was answered from a cache counts on neither side.
-- scope: by page
-- paper: sections 3.2 and 4.2
-- page: the page
-- paired_dns: hosts of its network requests that were looked up
-- repeated_dns: their lookups beyond the first of each
-- unused_dns: lookups of names that no network request of the page went to
-- paired_ideal_ip_dns: addresses that these hosts' first requests went to; NULL where one is not known
-- paired_ideal_origin_dns: server keys of these, likewise
-- paired_chromium_dns: these hosts that Chromium looks up with servers as they are; NULL where that is not known of one
-- paired_chromium_cookies_blocked_dns: these hosts that it looks up with third-party cookies blocked, likewise
-- paired_firefox_dns: these hosts that Firefox looks up, likewise
WITH
lookups AS (
  SELECT p.page, q.host, count(DISTINCT q.lookup_id) AS lookups
  FROM dns_queries AS q
  JOIN pages AS p ON p.visit_id = q.visit_id
  WHERE q.source = 'browser' AND q.lookup_id IS NOT NULL AND p.page IN (SELECT page FROM netlog_pages)
  GROUP BY p.page, q.host
  UNION ALL
  SELECT page, host, sum(lookups)
  FROM host_connections
  WHERE page NOT IN (SELECT page FROM netlog_pages)
  GROUP BY page, host
  HAVING sum(lookups) > 0
),
requested AS (
  SELECT
    page, host,
    arg_min(server_ip, request_id) AS server_ip,
    arg_min(server_key, request_id) AS server_key
  FROM host_connections
  WHERE host IS NOT NULL
  GROUP BY page, host
),
paired AS (
  SELECT
    l.page, l.lookups,
    r.host IS NOT NULL AS was_requested,
    r.host, r.server_ip, r.server_key,
    n.chromium_dns, n.chromium_cookies_blocked_dns, n.firefox_dns
  FROM lookups AS l
  JOIN pages AS p ON p.page = l.page
  LEFT JOIN requested AS r ON r.page = l.page AND r.host = l.host
  LEFT JOIN page_names AS n ON n.visit_id = p.visit_id AND n.host = r.host
)
SELECT
  page,
  count(host) AS paired_dns,
  coalesce(sum(lookups - 1) FILTER (was_requested), 0) AS repeated_dns,
  coalesce(sum(lookups) FILTER (NOT was_requested), 0) AS unused_dns,
  CASE WHEN count(server_ip) = count(host) THEN count(DISTINCT server_ip) END AS paired_ideal_ip_dns,
  CASE WHEN count(server_ip) = count(host) THEN count(DISTINCT server_key) END AS paired_ideal_origin_dns,
  CASE WHEN count(chromium_dns) = count(host) THEN count(*) FILTER (chromium_dns) END AS paired_chromium_dns,
  CASE WHEN count(chromium_cookies_blocked_dns) = count(host) THEN count(*) FILTER (chromium_cookies_blocked_dns) END
    AS paired_chromium_cookies_blocked_dns,
  CASE WHEN count(firefox_dns) = count(host) THEN count(*) FILTER (firefox_dns) END AS paired_firefox_dns
FROM paired
GROUP BY page
