-- Every host that the pages replayed by the browsers' rules name, and the site of every frame; each once.
-- scope: by page
-- host: the host
-- registrable_domain: its registrable domain; NULL where that is not known
-- edge: the provider's edge that it is on; NULL for none, or not known
-- is_ip_literal: it is an address
WITH occurring AS (
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
FROM occurring AS o
LEFT JOIN hosts AS h ON h.host = o.host
WHERE o.host IS NOT NULL
