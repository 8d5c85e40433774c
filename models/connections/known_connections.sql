-- The connections of the page, with recorded certificates completed by live ones (study enrich --live). If the recording has no
-- certificate for a connection, or one whose names are not known, the connection gets the certificate that its host presented
-- last at the same address.
-- scope: by page
-- kept as: view
-- visit_id: the visit
-- connection_id: the connection; the other columns are those of the table connections
-- certificate_is_live: the certificate was not recorded with the page, but obtained live after it
WITH
live_certificates AS (
  SELECT visit_id, host, server_ip, port, arg_max(certificate_id, coalesce(asked_at, '-infinity'::TIMESTAMP)) AS certificate_id
  FROM live_handshakes
  WHERE recorded AND certificate_id IS NOT NULL
  GROUP BY visit_id, host, server_ip, port
),
replacements AS (
  SELECT c.visit_id, c.connection_id, s.certificate_id
  FROM connections AS c
  JOIN live_certificates AS s
    ON s.visit_id = c.visit_id AND s.host = c.first_host AND s.server_ip = c.server_ip AND s.port = coalesce(c.port, 443)
  WHERE
    NOT EXISTS (FROM certificates AS named WHERE named.certificate_id = c.certificate_id AND named.san_count IS NOT NULL)
)
SELECT
  c.* REPLACE (coalesce(r.certificate_id, c.certificate_id) AS certificate_id),
  r.certificate_id IS NOT NULL AS certificate_is_live
FROM connections AS c
LEFT JOIN replacements AS r ON r.visit_id = c.visit_id AND r.connection_id = c.connection_id
