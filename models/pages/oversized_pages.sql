-- The pages with more than 1,000 hosts or connections. Their hosts and connections are not compared in pairs, because the
-- number of pairs is quadratic in a list that strangers write. The paper's pages have a median of 16 connections, the
-- largest a few hundred.
-- scope: by page
-- visit_id: the visit
-- page: its page
WITH
long_pages AS (
  SELECT page FROM host_connections GROUP BY page HAVING count(*) > 1000
),
oversized AS (
  SELECT page
  FROM host_connections
  WHERE page IN (SELECT page FROM long_pages)
  GROUP BY page
  HAVING count(DISTINCT host) > 1000 OR count(DISTINCT connection_id) > 1000
)
SELECT p.visit_id, p.page
FROM oversized AS o
JOIN pages AS p ON p.page = o.page
