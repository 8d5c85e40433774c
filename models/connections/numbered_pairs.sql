-- Each host-connection pair (host_connections) with numbers in place of texts: where its requests queue, which server of the
-- page they go to, and which request was the first to that server. Numbers are unique within the batch.
-- scope: by page
-- paper: section 4, figure 2
-- parameter provider_asns: the ASes of the one provider that coalesces
-- pair: the pair
-- page: its page
-- secure: its host is known, and its requests go over https or wss
-- host_id: number of its host (requested_hosts); NULL if that is not known
-- of_provider: its server is in an AS of the one provider that coalesces
-- lane: number of what its requests queue for: their connection if it is known, else their origin; NULL if neither is known
-- address: number of the page and the server's address; NULL if the address is not known
-- server: number of the page and the server key; NULL if the key is not known
-- first_to_address: the least request_id of the page's requests to this address, of those whose start is known
-- first_to_server: the least request_id of the page's requests to servers with this key, of those whose start is known
-- first_to_provider: the same, of requests to the provider alone; NULL if this pair is not at the provider
WITH
pairs AS (
  SELECT
    *,
    coalesce(list_contains(getvariable('provider_asns'), asn), false) AS of_provider,
    queue_origin(connection_id, scheme, host, port) AS origin
  FROM host_connections
),
lanes AS (
  SELECT page, connection_id, origin, row_number() OVER ()::INTEGER AS lane
  FROM pairs
  WHERE connection_id IS NOT NULL OR origin IS NOT NULL
  GROUP BY page, connection_id, origin
),
addresses_of_pages AS (
  SELECT page, server_ip, row_number() OVER ()::INTEGER AS address, min(first_started) AS request_id
  FROM pairs
  WHERE server_ip IS NOT NULL
  GROUP BY page, server_ip
),
servers_of_pages AS (
  SELECT
    page, server_key,
    row_number() OVER ()::INTEGER AS server,
    min(first_started) AS request_id,
    min(first_started) FILTER (of_provider) AS provider_request_id
  FROM pairs
  WHERE server_key IS NOT NULL
  GROUP BY page, server_key
)
SELECT
  p.pair,
  p.page,
  p.secure AND p.host IS NOT NULL AS secure,
  n.host_id,
  p.of_provider,
  l.lane, a.address, s.server,
  a.request_id AS first_to_address,
  s.request_id AS first_to_server,
  CASE WHEN p.of_provider THEN s.provider_request_id END AS first_to_provider
FROM pairs AS p
LEFT JOIN requested_hosts AS n ON n.host = p.host
LEFT JOIN lanes AS l
  ON l.page = p.page AND l.connection_id IS NOT DISTINCT FROM p.connection_id AND l.origin IS NOT DISTINCT FROM p.origin
LEFT JOIN addresses_of_pages AS a ON a.page = p.page AND a.server_ip = p.server_ip
LEFT JOIN servers_of_pages AS s ON s.page = p.page AND s.server_key = p.server_key
