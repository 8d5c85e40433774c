-- Sites that several certificates of an inventory cover: which certificates these are.
-- rows: the certificates, as rows of the inventory
-- name_sets: how many different sets of names these certificates have
WITH
names AS (
  SELECT name, list(row ORDER BY row) AS rows, count(DISTINCT name_set) AS name_sets
  FROM (SELECT DISTINCT row, name_set, unnest(names) AS name FROM inventory)
  GROUP BY name
),
sites AS (
  SELECT DISTINCT rtrim(lower(site), '.') AS site FROM pairs
)
SELECT DISTINCT coalesce(e.rows, w.rows) AS rows, coalesce(e.name_sets, w.name_sets) AS name_sets
FROM sites AS s
LEFT JOIN names AS e ON e.name = s.site
LEFT JOIN names AS w ON w.name = wildcard_above(s.site)
WHERE len(coalesce(e.rows, w.rows)) > 1
ORDER BY rows
