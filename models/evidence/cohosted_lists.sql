-- The distinct lists of hosts in cohosted_groups.
-- scope: by page
-- hosts: hosts of one page that share an AS, an address, an organisation or an edge, in alphabetical order
SELECT DISTINCT hosts FROM cohosted_groups
