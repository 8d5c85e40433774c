-- The places of the hosts that pages requested. A place is what two colocated hosts can have in common: an AS, an organisation,
-- an edge, an address, a certificate that covers both, an owner.
-- scope: over the study
-- kind: the kind of evidence, as in colocation_evidence
-- place: the AS, organisation, ..., as colocation_evidence.source writes it
-- host_id: number of the host (numbered_hosts)
-- last_seen_at: when the host was last seen at the place
-- presented: the place is a certificate and the host's server presented it
WITH
addresses_of_hosts AS MATERIALIZED (
  SELECT
    n.host_id, s.server_ip,
    max(s.last_seen_at) AS last_seen_at,
    bool_or(s.served) AS served,
    max(s.last_served_at) AS last_served_at
  FROM host_addresses AS s
  JOIN numbered_hosts AS n ON n.host = s.host
  GROUP BY n.host_id, s.server_ip
),
networks_of_hosts AS (
  SELECT s.*, a.asn, a.organisation FROM addresses_of_hosts AS s JOIN addresses AS a ON a.ip = s.server_ip
),
hosts_with_certificates AS (
  SELECT DISTINCT host, certificate_id FROM presented_certificates
),
last_sightings AS (
  SELECT n.host_id, n.host, n.edge, n.registrable_domain, s.last_seen_at
  FROM (SELECT host_id, max(last_seen_at) AS last_seen_at FROM addresses_of_hosts GROUP BY host_id) AS s
  JOIN numbered_hosts AS n ON n.host_id = s.host_id
)
SELECT 'same_as' AS kind, 'AS' || asn AS place, host_id, max(last_seen_at) AS last_seen_at, false AS presented
FROM networks_of_hosts
WHERE asn IS NOT NULL
GROUP BY asn, host_id
UNION ALL
SELECT 'same_organisation', organisation, host_id, max(last_seen_at), false
FROM networks_of_hosts
WHERE organisation IS NOT NULL
GROUP BY organisation, host_id
UNION ALL
SELECT 'shared_address', 'address ' || server_ip, host_id, last_served_at, false FROM addresses_of_hosts WHERE served
UNION ALL
SELECT 'same_edge', edge, host_id, last_seen_at, false FROM last_sightings WHERE edge IS NOT NULL
UNION ALL
SELECT 'certificate', 'certificate ' || c.certificate_id, s.host_id, s.last_seen_at, p.host IS NOT NULL
FROM last_sightings AS s
JOIN certificate_coverage AS c ON c.host = s.host
LEFT JOIN hosts_with_certificates AS p ON p.host = s.host AND p.certificate_id = c.certificate_id
UNION ALL
SELECT 'one_owner', registrable_domain, host_id, last_seen_at, false FROM last_sightings WHERE registrable_domain IS NOT NULL
