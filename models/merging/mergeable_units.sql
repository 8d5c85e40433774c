-- The units of a page that need a connection each unless they are merged: hosts, as ideal_origin counts them, and first
-- connections, as paired_ideal_origin counts them. Only of server keys with two or more units. Oversized pages are left out.
-- scope: by page
-- counted: hosts or connections
-- page: the page
-- server: number of the page and the server key (numbered_pairs)
-- connection_id: the connection; NULL if the unit is a host
-- host_id: the host, or a host that the connection served (requested_hosts). A connection that only answered 421 has none.
WITH
units AS (
  SELECT DISTINCT 'hosts' AS counted, page, server, NULL::BIGINT AS connection_id, host_id
  FROM numbered_pairs
  WHERE server IS NOT NULL
  UNION ALL
  SELECT DISTINCT 'connections', f.page, a.server, f.connection_id, CASE WHEN NOT f.refused THEN n.host_id END
  FROM first_connections AS f
  JOIN numbered_pairs AS n ON n.pair = f.pair
  JOIN numbered_pairs AS a ON a.pair = f.addressed_pair
  WHERE a.server IS NOT NULL
),
servers_with_several AS (
  SELECT server FROM units GROUP BY counted, server HAVING count(*) > 1
)
SELECT *
FROM units
WHERE
  host_id IS NOT NULL
  AND server IN (SELECT server FROM servers_with_several)
  AND page NOT IN (SELECT page FROM oversized_pages)
