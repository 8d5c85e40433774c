-- The mergeable_units with a host that is in host_links, numbered in the order of server and first host.
-- scope: by page
-- counted: hosts or connections
-- page: the page
-- server: the page and server key
-- connection_id: the connection; NULL if the unit is a host
-- first_host: number of the host; of a connection the least number of its hosts
-- number: its number, from 0
WITH
linked_hosts AS (
  SELECT server, host_a AS host_id FROM host_links
  UNION
  SELECT server, host_b FROM host_links
),
units_of_linked_hosts AS (
  SELECT u.counted, u.page, u.server, u.connection_id, min(u.host_id) AS first_host
  FROM mergeable_units AS u
  JOIN linked_hosts AS l ON l.server = u.server AND l.host_id = u.host_id
  GROUP BY u.counted, u.page, u.server, u.connection_id, CASE WHEN u.counted = 'hosts' THEN u.host_id END
)
SELECT *, row_number() OVER (ORDER BY server, counted, first_host, connection_id) - 1 AS number
FROM units_of_linked_hosts
