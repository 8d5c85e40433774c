-- What the requests of a page queue for: their connection where it is known, else their origin.
-- scope: by page
-- paper: section 4, figure 2
-- page: the page
-- connection_id: the connection
-- origin: scheme, host and port; NULL where the connection is known
-- lane: a number that no other page has
SELECT *, row_number() OVER ()::INTEGER AS lane
FROM (SELECT DISTINCT page, connection_id, queue_origin(connection_id, scheme, host, port) AS origin FROM host_connections)
WHERE connection_id IS NOT NULL OR origin IS NOT NULL
