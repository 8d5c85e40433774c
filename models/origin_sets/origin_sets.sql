-- The hosts that each site's server could announce in an ORIGIN frame (RFC 8336): one row for each site, server and host with
-- the same server key as the document, the server itself included.
-- scope: over the study
-- site: the site; all columns are those of the table origin_sets
WITH
located_documents AS (
  SELECT * FROM site_documents WHERE secure AND server_key IS NOT NULL
),
server_certificates AS (
  SELECT site, server, first(certificate_id ORDER BY visits DESC, certificate_id) AS certificate_id
  FROM (
    SELECT site, server, certificate_id, count(*) AS visits
    FROM located_documents
    WHERE certificate_id IS NOT NULL
    GROUP BY site, server, certificate_id
  )
  GROUP BY site, server
),
server_asns AS (
  SELECT site, server, first(asn ORDER BY visits DESC, asn) FILTER (WHERE asn IS NOT NULL) AS asn
  FROM (SELECT site, server, asn, count(*) AS visits FROM located_documents GROUP BY site, server, asn)
  GROUP BY site, server
),
site_visits AS (
  SELECT site, count(*) AS visits FROM located_documents GROUP BY site
),
servers AS (
  SELECT a.site, a.server, a.asn, c.certificate_id, f.names_known, t.visits
  FROM server_asns AS a
  JOIN site_visits AS t ON t.site = a.site
  LEFT JOIN server_certificates AS c ON c.site = a.site AND c.server = a.server
  LEFT JOIN certificate_facts AS f ON f.certificate_id = c.certificate_id
)
SELECT
  m.site,
  m.server,
  m.host,
  m.port,
  d.asn,
  m.level,
  CASE WHEN d.names_known THEN v.host IS NOT NULL END AS covered_by_certificate,
  m.host IN (SELECT host FROM misdirected_hosts WHERE host IS NOT NULL) AS misdirected,
  m.requests,
  m.visits,
  m.visits / d.visits AS seen_share,
  CASE
    WHEN NOT getvariable('browsers') THEN NULL
    -- The other hosts use the connection to the server itself, which is always needed.
    WHEN m.host = m.server THEN 0
    -- A client removes hosts from the set that the certificate does not cover (RFC 8336 section 2.4).
    WHEN NOT covered_by_certificate THEN 0
    WHEN covered_by_certificate THEN s.connections_saved_firefox
  END AS connections_saved_firefox
FROM site_server_hosts AS m
JOIN servers AS d ON d.site = m.site AND d.server = m.server
LEFT JOIN certificate_coverage AS v ON v.host = m.host AND v.certificate_id = d.certificate_id
LEFT JOIN site_host_savings AS s ON s.site = m.site AND s.server = m.server AND s.host = m.host
