-- The places of the hosts that pages requested. A place is what two colocated hosts can have in common: an AS, an organisation,
-- an edge, an address, a certificate that covers both, an owner.
-- scope: over the study
-- kind: the kind of evidence, as in colocation_evidence
-- place: the AS, organisation, ..., as colocation_evidence.source writes it
-- host: the host
-- last_seen_at: when the host was last seen at the place
-- presented: the place is a certificate and the host's server presented it
WITH
addresses_of_hosts AS (
  SELECT
    host, server_ip,
    max(last_seen_at) AS last_seen_at,
    bool_or(served) AS served,
    max(last_served_at) AS last_served_at
  FROM host_addresses
  GROUP BY host, server_ip
),
networks_of_hosts AS (
  SELECT s.*, a.asn, a.organisation FROM addresses_of_hosts AS s JOIN addresses AS a ON a.ip = s.server_ip
),
hosts_with_certificates AS (
  SELECT DISTINCT host, certificate_id FROM presented_certificates
),
last_sightings AS (
  SELECT s.host, max(s.last_seen_at) AS last_seen_at FROM addresses_of_hosts AS s GROUP BY s.host
)
SELECT 'same_as' AS kind, 'AS' || asn AS place, host, max(last_seen_at) AS last_seen_at, false AS presented
FROM networks_of_hosts
WHERE asn IS NOT NULL
GROUP BY asn, host
UNION ALL
SELECT 'same_organisation', organisation, host, max(last_seen_at), false
FROM networks_of_hosts
WHERE organisation IS NOT NULL
GROUP BY organisation, host
UNION ALL
SELECT 'shared_address', 'address ' || server_ip, host, last_served_at, false FROM addresses_of_hosts WHERE served
UNION ALL
-- A host with several CDNs is on this edge only at times, and it is not recorded when.
SELECT 'same_edge', h.edge, s.host, s.last_seen_at, false
FROM last_sightings AS s
JOIN hosts AS h ON h.host = s.host
WHERE h.edge IS NOT NULL AND h.multi_cdn IS DISTINCT FROM true
UNION ALL
SELECT 'certificate', 'certificate ' || c.certificate_id, s.host, s.last_seen_at, p.host IS NOT NULL
FROM last_sightings AS s
JOIN certificate_coverage AS c ON c.host = s.host
LEFT JOIN hosts_with_certificates AS p ON p.host = s.host AND p.certificate_id = c.certificate_id
UNION ALL
SELECT 'one_owner', h.registrable_domain, s.host, s.last_seen_at, false
FROM last_sightings AS s
JOIN hosts AS h ON h.host = s.host
WHERE h.registrable_domain IS NOT NULL
