-- The distinct server addresses in the pages of the batch that are replayed by the browsers' rules; hosts that are IP addresses
-- included.
-- scope: by page
-- ip: the address
-- asn: its AS; NULL if it is in no AS, or that is not known
WITH named_addresses AS (
  SELECT server_ip AS ip FROM browser_requests
  UNION
  SELECT server_ip FROM browser_connections
  UNION
  SELECT unnest(answers) FROM browser_lookups WHERE rtype IN ('A', 'AAAA')
  UNION
  SELECT host FROM batch_hosts WHERE is_ip_literal
)
SELECT o.ip, a.asn
FROM named_addresses AS o
LEFT JOIN addresses AS a ON a.ip = o.ip
WHERE o.ip IS NOT NULL
