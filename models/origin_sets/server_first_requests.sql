-- The requests that were the first of their page to their server's address, or to a server with its server key.
-- scope: by page
-- paper: section 4
-- page: the page
-- request_id: the request
-- first_to_address: it was the first to its address
-- first_to_server: it was the first to its server key
-- first_to_provider: it was the first to its server key of those to the one provider that coalesces
-- parameter provider_asns: the ASes of that provider
WITH
of_addresses AS (
  SELECT page, min(first_started) AS request_id FROM host_connections WHERE server_ip IS NOT NULL GROUP BY page, server_ip
),
of_servers AS (
  SELECT
    page,
    min(first_started) AS request_id,
    min(first_started) FILTER (list_contains(getvariable('provider_asns'), asn)) AS provider_request_id
  FROM host_connections
  WHERE server_key IS NOT NULL
  GROUP BY page, server_key
),
firsts AS (
  SELECT page, request_id, true AS to_address, false AS to_server, false AS to_provider FROM of_addresses
  UNION ALL
  SELECT page, request_id, false, true, false FROM of_servers
  UNION ALL
  SELECT page, provider_request_id, false, false, true FROM of_servers
)
SELECT
  page,
  request_id,
  bool_or(to_address) AS first_to_address,
  bool_or(to_server) AS first_to_server,
  bool_or(to_provider) AS first_to_provider
FROM firsts
WHERE request_id IS NOT NULL
GROUP BY page, request_id
