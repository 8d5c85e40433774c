-- The connections that would not be needed if a site's certificate had more names, grouped by the names that it lacks. A
-- provider is a server key, by default an AS. Sites are left out if the names of their certificate are not known.
-- scope: over the study
-- paper: section 4.4
-- parameter wildcards: whether a certificate's wildcard names cover hosts: cover or ignored
-- parameter coverage: no rows if it is ignored
-- site: the site
-- server_key: the provider's server key
-- asn: the AS; NULL where the provider is not one AS
-- names: the names that the certificate would need to have for a connection to be saved, in alphabetical order
-- connections: how many connections would be saved by exactly these names
WITH
site_connections AS (
  SELECT c.site, c.server_key, c.asn, c.hosts, c.connections, o.certificate_id
  FROM coalescible_connections AS c
  JOIN site_own_certificates AS o ON o.site = c.site
),
providers AS (
  SELECT server_key, CASE WHEN count(DISTINCT asn) = 1 THEN min(asn) END AS asn FROM site_connections GROUP BY server_key
),
numbered_connections AS (
  SELECT row_number() OVER () AS id, * FROM site_connections
),
uncovered_hosts AS (
  SELECT n.id, list(n.host ORDER BY n.host) AS names
  FROM (SELECT id, certificate_id, unnest(hosts) AS host FROM numbered_connections) AS n
  JOIN certificate_facts AS f ON f.certificate_id = n.certificate_id
  WHERE
    f.names_known
    AND getvariable('coverage') <> 'ignored'
    AND NOT EXISTS (
      FROM certificate_coverage AS c
      WHERE
        c.host = n.host
        AND c.certificate_id = n.certificate_id
        AND is_counted_as_covered(c.by_exact_name)
    )
  GROUP BY n.id
)
SELECT n.site, n.server_key, p.asn, l.names, sum(n.connections)::BIGINT AS connections
FROM numbered_connections AS n
JOIN uncovered_hosts AS l ON l.id = n.id
JOIN providers AS p ON p.server_key = n.server_key
GROUP BY n.site, n.server_key, p.asn, l.names
