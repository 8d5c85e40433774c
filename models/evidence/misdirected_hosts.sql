-- The hosts that a server answered 421 for (RFC 9110 section 15.5.20), in a recorded response or in the list of a connection.
-- scope: by page
-- host: the host
SELECT host
FROM host_connections
WHERE refused > 0 AND host IS NOT NULL AND page NOT IN (SELECT page FROM oversized_pages)
UNION
SELECT unnest(misdirected) AS host FROM connections
