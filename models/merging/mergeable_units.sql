-- The units of a page that need a connection each unless they are merged: hosts, as ideal_origin counts them, and first
-- connections, as paired_ideal_origin counts them. Only of server keys with two or more units. Oversized pages are left out.
-- scope: by page
-- counted: hosts or connections
-- page: the page
-- server: a number for the page and the server key
-- connection_id: the connection; NULL if the unit is a host
-- host_id: the host, or a host that the connection served (requested_hosts). A connection that only answered 421 has none.
WITH
hosts_of_servers AS (
  SELECT DISTINCT page, server_key, host FROM host_connections WHERE server_ip IS NOT NULL
),
connections_of_servers AS (
  SELECT DISTINCT page, server_key, connection_id, CASE WHEN NOT refused THEN host END AS host
  FROM first_connections
  WHERE server_key IS NOT NULL
),
servers_with_several AS (
  SELECT page, server_key FROM hosts_of_servers GROUP BY page, server_key HAVING count(*) > 1
  UNION
  SELECT page, server_key FROM connections_of_servers GROUP BY page, server_key HAVING count(*) > 1
),
servers AS MATERIALIZED (
  SELECT page, server_key, row_number() OVER ()::INTEGER AS server
  FROM servers_with_several
  WHERE page NOT IN (SELECT page FROM oversized_pages)
)
SELECT 'hosts' AS counted, s.page, s.server, NULL::BIGINT AS connection_id, h.host_id
FROM hosts_of_servers AS u
JOIN servers AS s ON s.page = u.page AND s.server_key = u.server_key
JOIN requested_hosts AS h ON h.host = u.host
UNION ALL
SELECT 'connections', s.page, s.server, u.connection_id, h.host_id
FROM connections_of_servers AS u
JOIN servers AS s ON s.page = u.page AND s.server_key = u.server_key
JOIN requested_hosts AS h ON h.host = u.host
