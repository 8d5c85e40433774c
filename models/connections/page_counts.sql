-- The connections and lookups of each visit: measured, as browsers' rules predict them, and under each ideal.
-- scope: by page
-- paper: sections 3.2 and 4.2
-- visit_id: the visit; all columns are those of the table page_counts, which describes them
WITH merged_counts AS (
  SELECT
    u.page,
    count(*) FILTER (u.counted = 'hosts' AND m.at_edge) AS hosts_at_edge,
    count(*) FILTER (u.counted = 'hosts' AND m.deployable) AS hosts_deployable,
    count(*) FILTER (u.counted = 'hosts' AND m.of_owner) AS hosts_of_owner,
    count(*) FILTER (u.counted = 'connections' AND m.at_edge) AS connections_at_edge,
    count(*) FILTER (u.counted = 'connections' AND m.deployable) AS connections_deployable,
    count(*) FILTER (u.counted = 'connections' AND m.of_owner) AS connections_of_owner
  FROM linked_units AS u
  JOIN merged_units AS m ON m.number = u.number
  GROUP BY u.page
)
SELECT
  c.* EXCLUDE (page, addresses_known, paired_known, pairs_known, mergeable_hosts, mergeable_connections),
  CASE WHEN addresses_known AND pairs_known THEN mergeable_hosts - coalesce(m.hosts_of_owner, 0) END AS ideal_owner,
  CASE WHEN addresses_known AND pairs_known THEN mergeable_hosts - coalesce(m.hosts_at_edge, 0) END AS ideal_edge,
  CASE WHEN addresses_known AND pairs_known THEN mergeable_hosts - coalesce(m.hosts_deployable, 0) END AS ideal_deployable,
  CASE WHEN paired_known AND pairs_known
    THEN mergeable_connections - coalesce(m.connections_of_owner, 0) END AS paired_ideal_owner,
  CASE WHEN paired_known AND pairs_known
    THEN mergeable_connections - coalesce(m.connections_at_edge, 0) END AS paired_ideal_edge,
  CASE WHEN paired_known AND pairs_known
    THEN mergeable_connections - coalesce(m.connections_deployable, 0) END AS paired_ideal_deployable,
  CASE WHEN c.measured_dns IS NOT NULL THEN coalesce(l.paired_dns, 0) END AS paired_dns,
  CASE WHEN c.measured_dns IS NOT NULL THEN coalesce(l.repeated_dns, 0) END AS repeated_dns,
  CASE WHEN c.measured_dns IS NOT NULL THEN coalesce(l.unused_dns, 0) END AS unused_dns,
  CASE WHEN c.measured_dns IS NOT NULL AND l.page IS NULL THEN 0 ELSE l.paired_ideal_ip_dns END AS paired_ideal_ip_dns,
  CASE WHEN c.measured_dns IS NOT NULL AND l.page IS NULL THEN 0 ELSE l.paired_ideal_origin_dns END
    AS paired_ideal_origin_dns,
  CASE WHEN c.measured_dns IS NOT NULL AND l.page IS NULL AND b.visit_id IS NOT NULL THEN 0 ELSE l.paired_chromium_dns END
    AS paired_chromium_dns,
  CASE
    WHEN c.measured_dns IS NOT NULL AND l.page IS NULL AND b.visit_id IS NOT NULL THEN 0
    ELSE l.paired_chromium_cookies_blocked_dns
  END AS paired_chromium_cookies_blocked_dns,
  CASE WHEN c.measured_dns IS NOT NULL AND l.page IS NULL AND b.visit_id IS NOT NULL THEN 0 ELSE l.paired_firefox_dns END
    AS paired_firefox_dns,
  b.* EXCLUDE (visit_id)
FROM page_connection_counts AS c
LEFT JOIN paired_lookups AS l ON l.page = c.page
LEFT JOIN merged_counts AS m ON m.page = c.page
LEFT JOIN browser_counts AS b ON b.visit_id = c.visit_id
