-- The pairs of linked_units whose hosts are in host_links.
-- scope: by page
-- unit_a: number of a unit
-- unit_b: number of another
-- level: the highest level of evidence between a host of one and a host of the other
-- one_owner: one owner has two such hosts
-- contradicts: a server of one such host answered 421 for the other
WITH hosts_of_units AS (
  SELECT n.counted, n.server, n.number, n.first_host AS host_id
  FROM linked_units AS n
  WHERE n.counted = 'hosts'
  UNION ALL
  SELECT n.counted, n.server, n.number, u.host_id
  FROM linked_units AS n
  JOIN mergeable_units AS u ON u.server = n.server AND u.connection_id = n.connection_id
  WHERE n.counted = 'connections'
)
SELECT a.number AS unit_a, b.number AS unit_b, l.level, l.one_owner, l.contradicts
FROM host_links AS l
JOIN hosts_of_units AS a ON a.server = l.server AND a.host_id = l.host_a
JOIN hosts_of_units AS b ON b.server = l.server AND b.host_id = l.host_b AND b.counted = a.counted
WHERE a.number <> b.number
