-- The hosts with the certificates that their servers presented: on connections that were opened for the host, or in a handshake
-- made after the recording (known_connections). Oversized pages are left out.
-- scope: by page
-- host: the host that the connection was opened for
-- certificate_id: the leaf certificate
SELECT DISTINCT c.first_host AS host, c.certificate_id
FROM known_connections AS c
JOIN pages AS p ON p.visit_id = c.visit_id
WHERE
  c.first_host IS NOT NULL
  AND c.certificate_id IS NOT NULL
  AND p.page NOT IN (SELECT page FROM oversized_pages)
