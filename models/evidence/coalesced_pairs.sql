-- The pairs of hosts that one TLS connection carried requests for (carried_hosts). For each pair the latest connection whose
-- server serves both, and every connection whose server is not known to serve both.
-- scope: by page
-- host_a: the host that comes first in the alphabet
-- host_b: the other
-- visit_id: the visit
-- connection_id: the connection
-- observed_at: when that visit began
-- a_served: the server of the connection serves host_a
-- b_served: the server of the connection serves host_b
WITH
shared_connections AS (
  SELECT page, connection_id FROM carried_hosts GROUP BY page, connection_id HAVING count(*) > 1
),
pairs AS (
  SELECT
    a.host AS host_a,
    b.host AS host_b,
    p.visit_id,
    s.connection_id,
    p.started_at AS observed_at,
    a.served AS a_served,
    b.served AS b_served
  FROM shared_connections AS s
  JOIN carried_hosts AS a ON a.page = s.page AND a.connection_id = s.connection_id
  JOIN carried_hosts AS b ON b.page = s.page AND b.connection_id = s.connection_id AND a.host < b.host
  JOIN pages AS p ON p.page = s.page
)
SELECT *
FROM pairs
QUALIFY
  NOT (a_served AND b_served)
  OR row_number() OVER (
    PARTITION BY host_a, host_b, a_served AND b_served
    ORDER BY observed_at DESC NULLS LAST, connection_source(connection_id, visit_id)
  ) = 1
