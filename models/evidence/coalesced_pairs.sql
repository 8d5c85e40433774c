-- The pairs of hosts that one TLS connection carried requests for. For each pair the latest connection whose server serves both,
-- and every connection whose server is not known to serve both. A server serves a host if it gave an answer with a 2xx or 3xx
-- status, or, if the connection was opened for the host, with any status but 421. A host is left out if all its answers were 421.
-- Connections with an inferred id and oversized pages are left out.
-- scope: by page
-- host_a: the host that comes first in the alphabet
-- host_b: the other
-- visit_id: the visit
-- connection_id: the connection
-- observed_at: when that visit began
-- a_served: the server of the connection serves host_a
-- b_served: the server of the connection serves host_b
WITH
-- Few connections have several pairs. The others are left out before answers are looked at.
shared_connections AS (
  SELECT page, connection_id
  FROM host_connections
  WHERE
    connection_known
    AND secure
    AND connection_id IS NOT NULL
    AND page NOT IN (SELECT page FROM oversized_pages)
  GROUP BY page, connection_id
  HAVING count(*) > 1
),
carried_hosts AS (
  SELECT
    h.page,
    h.connection_id,
    h.host,
    bool_or(shows_host(h.succeeded, h.answered - h.refused, h.host, c.first_host)) AS served
  FROM shared_connections AS s
  JOIN host_connections AS h ON h.page = s.page AND h.connection_id = s.connection_id
  LEFT JOIN page_connections AS c ON c.page = h.page AND c.connection_id = h.connection_id
  WHERE h.connection_known AND h.secure AND h.host IS NOT NULL AND h.refused < h.requests
  GROUP BY h.page, h.connection_id, h.host
),
pairs AS (
  SELECT
    a.host AS host_a,
    b.host AS host_b,
    p.visit_id,
    a.connection_id,
    p.started_at AS observed_at,
    a.served AS a_served,
    b.served AS b_served
  FROM carried_hosts AS a
  JOIN carried_hosts AS b ON b.page = a.page AND b.connection_id = a.connection_id AND a.host < b.host
  JOIN pages AS p ON p.page = a.page
)
SELECT *
FROM pairs
QUALIFY
  NOT (a_served AND b_served)
  OR row_number() OVER (
    PARTITION BY host_a, host_b, a_served AND b_served
    ORDER BY observed_at DESC NULLS LAST, connection_source(connection_id, visit_id)
  ) = 1
