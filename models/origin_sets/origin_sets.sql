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
visits_by_port AS (
  SELECT site, server, host, port, count(*) AS visits, sum(requests) AS requests
  FROM colocated_hosts
  GROUP BY site, server, host, port
),
set_members AS (
  SELECT
    site, server, host,
    first(port ORDER BY visits DESC, port NULLS FIRST) AS port,
    sum(requests) AS requests,
    sum(visits) AS visits
  FROM visits_by_port
  GROUP BY site, server, host
)
SELECT
  m.site,
  m.server,
  m.host,
  m.port,
  a.asn,
  l.level,
  CASE WHEN f.names_known THEN v.host IS NOT NULL END AS covered_by_certificate,
  m.host IN (SELECT host FROM misdirected_hosts WHERE host IS NOT NULL) AS misdirected,
  m.requests,
  m.visits,
  m.visits / t.visits AS seen_share,
  CASE
    WHEN NOT getvariable('browsers') THEN NULL
    -- The other hosts use the connection to the server itself, which is always needed.
    WHEN m.host = m.server THEN 0
    -- A client removes hosts from the set that the certificate does not cover (RFC 8336 section 2.4).
    WHEN NOT covered_by_certificate THEN 0
    WHEN covered_by_certificate THEN s.connections_saved_firefox
  END AS connections_saved_firefox
FROM set_members AS m
JOIN server_asns AS a ON a.site = m.site AND a.server = m.server
JOIN site_visits AS t ON t.site = m.site
JOIN document_server_levels AS l ON l.server = m.server AND l.host = m.host
LEFT JOIN server_certificates AS c ON c.site = m.site AND c.server = m.server
LEFT JOIN certificate_facts AS f ON f.certificate_id = c.certificate_id
LEFT JOIN certificate_coverage AS v ON v.host = m.host AND v.certificate_id = c.certificate_id
LEFT JOIN site_host_savings AS s ON s.site = m.site AND s.server = m.server AND s.host = m.host
