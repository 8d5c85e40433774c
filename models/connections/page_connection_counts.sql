-- The connections and lookups of every visit: measured, without same-host duplicates, and under the paper's ideals. What a
-- recorder cannot know is NULL: measured_tls if https requests were made and none has a connection id, the ideals if no request
-- has an address, the paired ideals if a counted connection has no address, lookups if the page has no DNS phase, wire_dns and
-- opened_tls except in captures. A page without network requests needs 0 connections.
-- scope: by page
-- paper: sections 3.2 and 4.2
-- visit_id: the visit
-- page: its page
-- addresses_known: a request has an address, or the page has no network requests
-- paired_known: every counted TLS connection has an address
-- pairs_known: the page is not oversized, so that pairs of its hosts are compared
-- mergeable_hosts: distinct hosts and server keys: what ideal_edge counts before hosts are merged
-- mergeable_connections: distinct first connections and server keys: what paired_ideal_edge counts before they are merged
-- measured_tls: this and all other columns are those of the table page_counts, which describes them
WITH
request_counts AS (
  SELECT
    page,
    sum(requests) AS requests,
    coalesce(sum(requests) FILTER (server_ip IS NULL), 0) AS left_out,
    coalesce(sum(requests) FILTER (secure), 0) AS secure_requests,
    sum(lookups) AS dns_phases
  FROM host_connections
  GROUP BY page
),
server_counts AS (
  SELECT page, count(DISTINCT host_id) AS hosts, count(*) AS mergeable_hosts, count(DISTINCT server) AS servers
  FROM (SELECT DISTINCT page, host_id, server FROM numbered_pairs WHERE server IS NOT NULL)
  GROUP BY page
),
connection_counts AS (
  SELECT page, count(*) AS tls, count(*) FILTER (has_address) AS addressed_tls
  FROM (
    SELECT page, connection_id, bool_or(server_ip IS NOT NULL) AS has_address
    FROM host_connections
    WHERE secure AND connection_id IS NOT NULL
    GROUP BY page, connection_id
  )
  GROUP BY page
),
address_counts AS (
  SELECT
    page,
    count(*) AS addresses,
    count(*) FILTER (asn IS NULL) AS without_asn,
    count(*) FILTER (server_unknown) AS without_key
  FROM (
    SELECT page, server_ip, asn, bool_or(server_unknown) AS server_unknown
    FROM host_connections
    WHERE server_ip IS NOT NULL
    GROUP BY page, server_ip, asn
  )
  GROUP BY page
),
first_connection_counts AS (
  SELECT
    page,
    count(*) AS connections,
    count(server) AS mergeable_connections,
    count(DISTINCT address) AS addresses,
    count(DISTINCT server) AS servers
  FROM (
    SELECT DISTINCT f.page, f.connection_id, n.address, n.server
    FROM first_connections AS f
    LEFT JOIN numbered_pairs AS n ON n.pair = f.addressed_pair
  )
  GROUP BY page
),
-- Only a NetLog has all lookups, and the connections that carried no request. Its rows show that a visit has one.
lookup_counts AS (
  SELECT visit_id, count(DISTINCT lookup_id) AS lookups, coalesce(sum(attempts), 0) AS attempts
  FROM dns_queries
  WHERE source = 'browser'
  GROUP BY visit_id
),
handshake_counts AS (
  SELECT visit_id, count(*) FILTER (WHERE tls) AS handshakes FROM connections WHERE source = 'netlog' GROUP BY visit_id
),
page_totals AS (
  SELECT
    v.visit_id,
    p.page,
    p.page IN (SELECT page FROM netlog_pages) AS has_netlog,
    l.lookups, l.attempts, s.handshakes,
    coalesce(r.requests, 0) AS requests,
    coalesce(r.left_out, 0) AS left_out,
    coalesce(r.secure_requests, 0) AS secure_requests,
    coalesce(r.dns_phases, 0) AS dns_phases,
    coalesce(k.hosts, 0) AS hosts,
    coalesce(k.mergeable_hosts, 0) AS mergeable_hosts,
    coalesce(c.tls, 0) AS tls,
    coalesce(c.addressed_tls, 0) AS addressed_tls,
    coalesce(a.addresses, 0) AS addresses,
    coalesce(a.without_asn, 0) AS without_asn,
    coalesce(a.without_key, 0) AS without_key,
    coalesce(k.servers, 0) AS servers,
    coalesce(f.connections, 0) AS first_connections,
    coalesce(f.mergeable_connections, 0) AS mergeable_connections,
    coalesce(f.addresses, 0) AS paired_addresses,
    coalesce(f.servers, 0) AS paired_servers
  FROM visits AS v
  JOIN pages AS p ON p.visit_id = v.visit_id
  LEFT JOIN request_counts AS r ON r.page = p.page
  LEFT JOIN connection_counts AS c ON c.page = p.page
  LEFT JOIN address_counts AS a ON a.page = p.page
  LEFT JOIN server_counts AS k ON k.page = p.page
  LEFT JOIN first_connection_counts AS f ON f.page = p.page
  LEFT JOIN lookup_counts AS l ON l.visit_id = v.visit_id
  LEFT JOIN handshake_counts AS s ON s.visit_id = v.visit_id
),
totals_with_limits AS (
  SELECT
    *,
    secure_requests = 0 OR tls > 0 AS tls_known,
    requests = 0 OR requests > left_out AS addresses_known,
    tls_known AND addressed_tls = tls AS paired_known,
    page NOT IN (SELECT page FROM oversized_pages) AS pairs_known
  FROM page_totals
)
SELECT
  visit_id, page, addresses_known, paired_known, pairs_known, mergeable_hosts, mergeable_connections,
  hosts, requests, without_asn, without_key, left_out,
  CASE
    WHEN has_netlog THEN coalesce(lookups, 0)
    WHEN dns_phases > 0 OR requests = 0 THEN dns_phases
  END AS measured_dns,
  CASE WHEN has_netlog THEN 'resolver_jobs' WHEN dns_phases > 0 THEN 'dns_phases' END AS dns_basis,
  CASE WHEN has_netlog THEN coalesce(attempts, 0) END AS wire_dns,
  CASE WHEN tls_known THEN tls END AS measured_tls,
  CASE WHEN has_netlog THEN coalesce(handshakes, 0) END AS opened_tls,
  CASE WHEN tls_known THEN first_connections END AS without_duplicates,
  CASE WHEN addresses_known THEN addresses END AS ideal_ip,
  CASE WHEN addresses_known THEN servers END AS ideal_origin,
  CASE WHEN paired_known THEN paired_addresses END AS paired_ideal_ip,
  CASE WHEN paired_known THEN paired_servers END AS paired_ideal_origin
FROM totals_with_limits
