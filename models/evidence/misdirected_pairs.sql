-- Evidence against pairs of hosts. A connection that answered 421 for a host contradicts that host's pair with the host that
-- the connection was opened for, and with each host that it answered otherwise. Of several connections the latest.
-- scope: by page
-- host_a: the host that comes first in the alphabet
-- host_b: the other
-- source: the connection and its visit
-- observed_at: when that visit began
WITH
-- Few pages have refusals. The others are left out before pairs are made.
pages_with_refusals AS (
  SELECT page FROM host_connections WHERE refused > 0
  UNION
  SELECT page FROM page_connections WHERE len(misdirected) > 0
),
hosts_of_connections AS (
  SELECT page, connection_id, host, refused < requests AS answered
  FROM host_connections
  WHERE
    connection_known
    AND connection_id IS NOT NULL
    AND host IS NOT NULL
    AND page IN (SELECT page FROM pages_with_refusals)
    AND page NOT IN (SELECT page FROM oversized_pages)
),
opened_connections AS (
  SELECT page, connection_id, first_host, misdirected
  FROM page_connections
  WHERE
    page IN (SELECT page FROM pages_with_refusals)
    AND page IN (SELECT page FROM host_connections)
    AND page NOT IN (SELECT page FROM oversized_pages)
),
refused_hosts AS (
  SELECT page, connection_id, unnest(misdirected) AS host FROM opened_connections
  UNION
  SELECT page, connection_id, host FROM hosts_of_connections WHERE NOT answered
),
answered_hosts AS (
  SELECT page, connection_id, first_host AS host FROM opened_connections
  UNION ALL
  SELECT page, connection_id, host FROM hosts_of_connections WHERE answered
),
pairs AS (
  SELECT
    least(r.host, a.host) AS host_a,
    greatest(r.host, a.host) AS host_b,
    connection_source(r.connection_id, p.visit_id) AS source,
    p.started_at AS observed_at
  FROM refused_hosts AS r
  JOIN answered_hosts AS a ON a.page = r.page AND a.connection_id = r.connection_id
  JOIN pages AS p ON p.page = r.page
  WHERE r.host <> a.host
)
SELECT
  host_a, host_b,
  first(source ORDER BY observed_at DESC NULLS LAST, source) AS source,
  max(observed_at) AS observed_at
FROM pairs
GROUP BY host_a, host_b
