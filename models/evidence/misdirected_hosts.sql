-- The hosts for which some server answered 421 (RFC 9110 section 15.5.20), as responses show it or as connections tell it.
-- scope: by page
-- host: the host
SELECT host
FROM host_connections
WHERE refused > 0 AND host IS NOT NULL AND page NOT IN (SELECT page FROM oversized_pages)
UNION
SELECT unnest(misdirected) AS host FROM connections
