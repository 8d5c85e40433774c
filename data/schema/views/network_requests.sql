-- The requests that reached the network: those that a server answered, or that have a connection. Answers from a cache or a
-- service worker, data: URLs, and requests with neither connection nor response are left out.
-- paper: section 3.1
-- scope: by page
-- kept as: view
-- visit_id: the visit
-- request_id: the request; the other columns are those of the table requests
-- secure: over https or wss
-- connection_known: the recorder gave the connection's id; it is not inferred
SELECT
  *,
  scheme IN ('https', 'wss') AS secure,
  connection_source IS DISTINCT FROM 'inferred' AS connection_known
FROM requests
WHERE
  scheme IN ('https', 'wss', 'http', 'ws')
  AND from_cache IS DISTINCT FROM true
  AND (status IS NOT NULL OR connection_id IS NOT NULL)
