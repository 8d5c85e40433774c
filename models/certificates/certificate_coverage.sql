-- Every certificate of the study that covers a host of the study. RFC 9525 section 6.3: a name covers the host that equals it,
-- or, if its left-most label is *, a host with any one label in that place. No partial wildcards, no common name (section
-- 6.1.2), no wildcard for an address.
-- scope: over the study
-- host: the host
-- certificate_id: the certificate
-- by_exact_name: one of its names equals the host; else a wildcard covers it
WITH
-- An absolute name, with its final dot, names the same host; a host with a star in it is nobody's name.
named AS (
  SELECT host, regexp_replace(host, '\.$', '') AS name FROM hosts WHERE NOT contains(host, '*')
),
wanted AS (
  SELECT host, name, true AS exact FROM named
  UNION ALL
  SELECT host, '*' || substr(name, instr(name, '.')), false
  FROM named
  WHERE NOT is_ip_literal(name) AND instr(name, '.') > 1
)
SELECT w.host, n.certificate_id, bool_or(w.exact) AS by_exact_name
FROM wanted AS w
JOIN certificate_names AS n ON n.name = w.name
GROUP BY w.host, n.certificate_id
