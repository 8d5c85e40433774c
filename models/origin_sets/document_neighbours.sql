-- The pairs of the host of a page's document with each other host of the same cohosted_groups row.
-- scope: by page
-- host_a: the host that comes first in the alphabet
-- host_b: the other
WITH neighbours AS (
  SELECT d.server, unnest(g.hosts) AS host
  FROM cohosted_groups AS g
  JOIN site_documents AS d ON d.page = g.page
  WHERE list_contains(g.hosts, d.server)
)
SELECT DISTINCT least(server, host) AS host_a, greatest(server, host) AS host_b
FROM neighbours
WHERE host <> server
