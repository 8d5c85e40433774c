-- The servers that a page's requests over https and wss went to, numbered.
-- scope: by page
-- page: the page
-- host: the host
-- server_ip: the server's address
-- address: a number for the page and the address
-- server: a number for the page and the server key
WITH servers AS (
  SELECT DISTINCT page, host, server_ip, server_key
  FROM host_connections
  WHERE secure AND host IS NOT NULL AND server_ip IS NOT NULL
)
SELECT
  page, host, server_ip,
  dense_rank() OVER (ORDER BY page, server_ip)::INTEGER AS address,
  dense_rank() OVER (ORDER BY page, server_key)::INTEGER AS server
FROM servers
