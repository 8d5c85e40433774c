-- The hosts of a page that have an AS, an address in no known AS, an organisation or an edge in common, two or more. Only
-- pairs of such hosts are compared, not all hosts of the study with one another. Without oversized pages.
-- scope: by page
-- page: the page
-- hosts: the hosts, in alphabetical order
WITH
seen AS (
  SELECT page, host, server_ip, asn
  FROM host_connections
  WHERE
    host IS NOT NULL
    AND (server_ip IS NOT NULL OR connection_id IS NOT NULL)
    AND page NOT IN (SELECT page FROM oversized_pages)
),
-- An AS is kept apart from the other places as a number groups faster than a text.
places AS (
  SELECT page, asn, NULL AS place, host FROM seen WHERE asn IS NOT NULL
  UNION
  SELECT page, NULL, 'address ' || server_ip, host FROM seen WHERE asn IS NULL AND server_ip IS NOT NULL
  UNION
  SELECT s.page, NULL, 'organisation ' || a.organisation, s.host
  FROM seen AS s
  JOIN addresses AS a ON a.ip = s.server_ip
  WHERE a.organisation IS NOT NULL
  UNION
  SELECT s.page, NULL, 'edge ' || h.edge, s.host
  FROM seen AS s
  JOIN hosts AS h ON h.host = s.host
  WHERE h.edge IS NOT NULL
)
SELECT page, list_sort(list(host)) AS hosts
FROM places
GROUP BY page, asn, place
HAVING count(*) > 1
