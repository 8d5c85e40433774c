-- Where the hosts that pages asked for are, by each kind of evidence that two hosts can share: an AS, an organisation, an
-- edge, an address, a certificate that covers them, an owner.
-- kind: the kind of evidence, as in colocation_evidence
-- place: the AS, organisation, ... , in the words of colocation_evidence.source
-- host: the host
-- last_seen_at: when it was last seen there
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
hosts_seen AS (
  SELECT s.host, max(s.last_seen_at) AS last_seen_at FROM seen AS s GROUP BY s.host
)
SELECT 'same_as' AS kind, 'AS' || asn AS place, host, max(last_seen_at) AS last_seen_at
FROM located
WHERE asn IS NOT NULL
GROUP BY asn, host
UNION ALL
SELECT 'same_organisation', organisation, host, max(last_seen_at)
FROM located
WHERE organisation IS NOT NULL
GROUP BY organisation, host
UNION ALL
SELECT 'shared_address', 'address ' || server_ip, host, last_served_at FROM seen WHERE served
UNION ALL
-- A host with several CDNs is on this edge at times, and nobody knows when.
SELECT 'same_edge', h.edge, s.host, s.last_seen_at
FROM hosts_seen AS s
JOIN hosts AS h ON h.host = s.host
WHERE h.edge IS NOT NULL AND h.multi_cdn IS DISTINCT FROM true
UNION ALL
SELECT 'certificate', 'certificate ' || c.certificate_id, s.host, s.last_seen_at
FROM hosts_seen AS s
JOIN certificate_coverage AS c ON c.host = s.host
UNION ALL
SELECT 'owner_on_edge', h.registrable_domain, s.host, s.last_seen_at
FROM hosts_seen AS s
JOIN hosts AS h ON h.host = s.host
WHERE h.registrable_domain IS NOT NULL
