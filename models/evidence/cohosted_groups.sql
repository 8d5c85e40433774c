-- The groups of two or more hosts of a page that share an AS, an address in no known AS, an organisation or an edge. Only hosts
-- of one group are compared with each other. Oversized pages are left out.
-- scope: by page
-- page: the page
-- hosts: numbers of the hosts (requested_hosts), in their order
WITH
located_hosts AS (
  SELECT h.page, h.host, n.host_id, h.server_ip, h.asn, h.organisation
  FROM host_connections AS h
  JOIN numbered_pairs AS n ON n.pair = h.pair
  WHERE
    h.host IS NOT NULL
    AND (h.server_ip IS NOT NULL OR h.connection_id IS NOT NULL)
    AND h.page NOT IN (SELECT page FROM oversized_pages)
),
-- The AS has a column of its own, because numbers are grouped faster than texts.
places AS (
  SELECT DISTINCT page, asn, NULL AS place, host_id FROM located_hosts WHERE asn IS NOT NULL
  UNION ALL
  SELECT DISTINCT page, NULL, 'address ' || server_ip, host_id FROM located_hosts WHERE asn IS NULL AND server_ip IS NOT NULL
  UNION ALL
  SELECT DISTINCT page, NULL, 'organisation ' || organisation, host_id FROM located_hosts WHERE organisation IS NOT NULL
  UNION ALL
  SELECT DISTINCT l.page, NULL, 'edge ' || h.edge, l.host_id
  FROM located_hosts AS l
  JOIN hosts AS h ON h.host = l.host
  WHERE h.edge IS NOT NULL
)
SELECT page, list_sort(list(host_id)) AS hosts
FROM places
GROUP BY page, asn, place
HAVING count(*) > 1
