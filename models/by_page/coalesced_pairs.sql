-- The pairs of hosts that one TLS connection carried, other than by answers of 421, with the latest connection that did. A
-- connection whose id was inferred is no evidence.
-- host_a: the host that comes first in the alphabet
-- host_b: the other
-- source: the connection and its visit
-- observed_at: when that visit began
WITH
carried AS (
  SELECT DISTINCT page, connection_id, host
  FROM host_connections
  WHERE
    connection_known
    AND secure
    AND connection_id IS NOT NULL
    AND host IS NOT NULL
    AND refused < requests
    AND page NOT IN (SELECT page FROM oversized_pages)
),
shared AS (
  SELECT page, connection_id FROM carried GROUP BY page, connection_id HAVING count(*) > 1
),
pairs AS (
  SELECT
    a.host AS host_a,
    b.host AS host_b,
    'connection ' || a.connection_id || ' of visit ' || p.visit_id AS source,
    p.started_at AS observed_at
  FROM shared AS s
  JOIN carried AS a ON a.page = s.page AND a.connection_id = s.connection_id
  JOIN carried AS b ON b.page = s.page AND b.connection_id = s.connection_id AND a.host < b.host
  JOIN pages AS p ON p.page = s.page
)
SELECT
  host_a, host_b,
  first(source ORDER BY observed_at DESC NULLS LAST, source) AS source,
  max(observed_at) AS observed_at
FROM pairs
GROUP BY host_a, host_b
