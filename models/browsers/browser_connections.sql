-- The connections of the pages that are replayed by the browsers' rules.
-- scope: by page
-- kept as: view
-- visit_id: the visit
-- connection_id: the connection; the columns that are not named here are those of the table connections
-- protocol: h1, h2 or h3; NULL for others and where it is not known
-- certificate_id: its server's certificate, as in known_connections
SELECT
  visit_id, connection_id, first_host, server_ip, port, http_version(protocol) AS protocol, tls, tls_version, ech,
  certificate_id, opened_ms, established_ms, closed_ms, privacy_mode, misdirected, origin_set, origin_ms, source
FROM known_connections
WHERE visit_id NOT IN (SELECT visit_id FROM oversized_pages)
