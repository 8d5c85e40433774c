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
requested AS (
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
looked_up AS (
  SELECT j.page, j.lookups, r.host, r.pair
  FROM resolver_jobs AS j
  LEFT JOIN requested AS r ON r.page = j.page AND r.host = j.host
  UNION ALL
  SELECT page, lookups, host, pair FROM requested WHERE lookups > 0 AND page NOT IN (SELECT page FROM netlog_pages)
),
paired AS (
  SELECT
    l.page, l.lookups, l.host,
    s.address, s.server,
    n.chromium_dns, n.chromium_cookies_blocked_dns, n.firefox_dns
  FROM looked_up AS l
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
FROM paired
GROUP BY page
