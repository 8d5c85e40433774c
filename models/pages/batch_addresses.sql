-- Every address of a server that the pages replayed by the browsers' rules name, hosts that are addresses included; each once.
-- scope: by page
-- ip: the address
-- asn: the AS that it is in; NULL for none, or not known
WITH occurring AS (
  SELECT server_ip AS ip FROM browser_requests
  UNION
  SELECT server_ip FROM browser_connections
  UNION
  SELECT unnest(answers) FROM browser_lookups WHERE rtype IN ('A', 'AAAA')
  UNION
  SELECT host FROM batch_hosts WHERE is_ip_literal
)
SELECT o.ip, a.asn
FROM occurring AS o
LEFT JOIN addresses AS a ON a.ip = o.ip
WHERE o.ip IS NOT NULL
