-- The groups of two or more hosts of a page that share an AS, an address in no known AS, an organisation or an edge. Only hosts
-- of one group are compared with each other. Oversized pages are left out.
-- scope: by page
-- page: the page
-- hosts: the hosts, in alphabetical order
WITH
located_hosts AS (
  SELECT page, host, server_ip, asn
  FROM host_connections
  WHERE
    host IS NOT NULL
    AND (server_ip IS NOT NULL OR connection_id IS NOT NULL)
    AND page NOT IN (SELECT page FROM oversized_pages)
),
-- The AS has a column of its own, because numbers are grouped faster than texts.
places AS (
  SELECT page, asn, NULL AS place, host FROM located_hosts WHERE asn IS NOT NULL
  UNION
  SELECT page, NULL, 'address ' || server_ip, host FROM located_hosts WHERE asn IS NULL AND server_ip IS NOT NULL
  UNION
  SELECT s.page, NULL, 'organisation ' || a.organisation, s.host
  FROM located_hosts AS s
  JOIN addresses AS a ON a.ip = s.server_ip
  WHERE a.organisation IS NOT NULL
  UNION
  SELECT s.page, NULL, 'edge ' || h.edge, s.host
  FROM located_hosts AS s
  JOIN hosts AS h ON h.host = s.host
  WHERE h.edge IS NOT NULL
)
SELECT page, list_sort(list(host)) AS hosts
FROM places
GROUP BY page, asn, place
HAVING count(*) > 1
