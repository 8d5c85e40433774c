-- The distinct lists of hosts in cohosted_groups.
-- scope: by page
-- hosts: hosts of one page that share an AS, an address, an organisation or an edge, in alphabetical order
WITH
lists AS (
  SELECT DISTINCT hosts FROM cohosted_groups
),
-- The number of a host is its place in this list.
all_names AS (
  SELECT list(host ORDER BY host_id) AS names FROM requested_hosts
)
SELECT list_select(n.names, l.hosts) AS hosts
FROM lists AS l
CROSS JOIN all_names AS n
