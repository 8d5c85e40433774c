-- The hosts that a connection which was not opened for them answered with an error, where some connection that was opened for
-- scope: over the study
-- the host gave the same answer to the same request: then the error is the host's own.
-- visit_id: the visit
-- connection_id: the connection
-- host: the host
SELECT DISTINCT e.visit_id, e.connection_id, e.host
FROM error_answers AS e
JOIN error_answers AS own
  ON own.host = e.host AND own.url = e.url AND own.method IS NOT DISTINCT FROM e.method AND own.status = e.status
WHERE e.visit_id IS NOT NULL AND own.visit_id IS NULL
