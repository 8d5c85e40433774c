-- The pairs of the host of a page's document with each other host of the same cohosted_groups row.
-- scope: by page
-- host_a: the host that comes first in the alphabet
-- host_b: the other
WITH
documents_of_sites AS (
  SELECT d.page, r.host_id
  FROM site_documents AS d
  JOIN requested_hosts AS r ON r.host = d.server
),
neighbours AS (
  SELECT d.host_id AS document, unnest(g.hosts) AS other
  FROM cohosted_groups AS g
  JOIN documents_of_sites AS d ON d.page = g.page
  WHERE list_contains(g.hosts, d.host_id)
),
pairs AS (
  SELECT DISTINCT least(document, other) AS a, greatest(document, other) AS b FROM neighbours WHERE other <> document
)
SELECT a.host AS host_a, b.host AS host_b
FROM pairs AS p
JOIN requested_hosts AS a ON a.host_id = p.a
JOIN requested_hosts AS b ON b.host_id = p.b
