-- The distinct hosts in the pages of the batch that are replayed by the browsers' rules, and the sites of their frames.
-- scope: by page
-- host: the host
-- registrable_domain: its registrable domain; NULL if that is not known
-- edge: the provider whose edge serves it; NULL if there is none, or it is not known
-- is_ip_literal: it is an IP address
WITH named_hosts AS (
  SELECT host FROM browser_requests
  UNION
  SELECT frame_site FROM browser_requests
  UNION
  SELECT first_host FROM browser_connections
  UNION
  SELECT unnest(misdirected) FROM browser_connections
  UNION
  SELECT host FROM browser_lookups
)
SELECT o.host, h.registrable_domain, h.edge, is_ip_literal(o.host) AS is_ip_literal
FROM named_hosts AS o
LEFT JOIN hosts AS h ON h.host = o.host
WHERE o.host IS NOT NULL
