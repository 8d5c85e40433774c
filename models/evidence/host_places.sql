-- Where the hosts that pages asked for are, by each kind of evidence that two hosts can share: an AS, an organisation, an
-- edge, an address, a certificate that covers them, an owner.
-- scope: over the study
-- kind: the kind of evidence, as in colocation_evidence
-- place: the AS, organisation, ... , in the words of colocation_evidence.source
-- host: the host
-- last_seen_at: when it was last seen there
-- presented: of a certificate, that the host's server presented it; else false
WITH
seen AS (
  SELECT
    host, server_ip,
    max(last_seen_at) AS last_seen_at,
    bool_or(served) AS served,
    max(last_served_at) AS last_served_at
  FROM host_addresses
  GROUP BY host, server_ip
),
located AS (
  SELECT s.*, a.asn, a.organisation FROM seen AS s JOIN addresses AS a ON a.ip = s.server_ip
),
presented AS (
  SELECT DISTINCT host, certificate_id FROM presented_certificates
),
hosts_seen AS (
  SELECT s.host, max(s.last_seen_at) AS last_seen_at FROM seen AS s GROUP BY s.host
)
SELECT 'same_as' AS kind, 'AS' || asn AS place, host, max(last_seen_at) AS last_seen_at, false AS presented
FROM located
WHERE asn IS NOT NULL
GROUP BY asn, host
UNION ALL
SELECT 'same_organisation', organisation, host, max(last_seen_at), false
FROM located
WHERE organisation IS NOT NULL
GROUP BY organisation, host
UNION ALL
SELECT 'shared_address', 'address ' || server_ip, host, last_served_at, false FROM seen WHERE served
UNION ALL
-- A host with several CDNs is on this edge at times, and nobody knows when.
SELECT 'same_edge', h.edge, s.host, s.last_seen_at, false
FROM hosts_seen AS s
JOIN hosts AS h ON h.host = s.host
WHERE h.edge IS NOT NULL AND h.multi_cdn IS DISTINCT FROM true
UNION ALL
SELECT 'certificate', 'certificate ' || c.certificate_id, s.host, s.last_seen_at, p.host IS NOT NULL
FROM hosts_seen AS s
JOIN certificate_coverage AS c ON c.host = s.host
LEFT JOIN presented AS p ON p.host = s.host AND p.certificate_id = c.certificate_id
UNION ALL
SELECT 'one_owner', h.registrable_domain, s.host, s.last_seen_at, false
FROM hosts_seen AS s
JOIN hosts AS h ON h.host = s.host
WHERE h.registrable_domain IS NOT NULL
