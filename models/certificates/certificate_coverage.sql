-- The hosts of the study, each with every certificate of the study that covers it. RFC 9525 section 6.3: a name covers the host
-- that equals it. If its left-most label is *, it covers every host with one label in that place. Partial wildcards and the
-- common name (section 6.1.2) cover nothing, and a wildcard covers no IP address.
-- scope: over the study
-- host: the host
-- certificate_id: the certificate
-- by_exact_name: one of its names equals the host; else a wildcard covers it
WITH
-- A final dot makes a name absolute and does not change the host. A host with a star in it is not a host name.
host_names AS (
  SELECT host, regexp_replace(host, '\.$', '') AS name FROM hosts WHERE NOT contains(host, '*')
),
covering_names AS (
  SELECT host, name, true AS exact FROM host_names
  UNION ALL
  SELECT host, '*' || substr(name, instr(name, '.')), false
  FROM host_names
  WHERE NOT is_ip_literal(name) AND instr(name, '.') > 1
)
SELECT w.host, n.certificate_id, bool_or(w.exact) AS by_exact_name
FROM covering_names AS w
JOIN certificate_names AS n ON n.name = w.name
GROUP BY w.host, n.certificate_id
