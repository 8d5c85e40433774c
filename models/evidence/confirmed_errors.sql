-- The errors that are a host's own: a connection that was not opened for the host gave an error, and a connection that was
-- opened for the host answered the same request with the same status.
-- scope: over the study
-- visit_id: the visit
-- connection_id: the connection
-- host: the host
SELECT DISTINCT e.visit_id, e.connection_id, e.host
FROM error_answers AS e
JOIN error_answers AS own
  ON own.host = e.host AND own.url = e.url AND own.method IS NOT DISTINCT FROM e.method AND own.status = e.status
WHERE e.visit_id IS NOT NULL AND own.visit_id IS NULL
