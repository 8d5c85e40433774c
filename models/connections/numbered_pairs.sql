-- Of each host-connection pair (host_connections) numbers in place of texts: where its requests queue, which server of their
-- page they go to, and which request was the first there. Numbers are of the batch, none is used by two pages.
-- scope: by page
-- paper: section 4, figure 2
-- parameter provider_asns: the ASes of the one provider that coalesces
-- pair: the pair
-- page: its page
-- secure: its host is known, and asked over https or wss
-- of_provider: it is at the one provider that coalesces
-- lane: what its requests queue for: their connection where it is known, else their origin; NULL for nothing
-- address: the server's address; NULL where it is not known
-- server: the server, by its key, likewise
-- first_to_address: the least request_id of the page's requests to this address whose start is known
-- first_to_server: that of those to a server with this key
-- first_to_provider: that of those to a server with this key at the provider; NULL if it is not there
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
  p.of_provider,
  l.lane, a.address, s.server,
  a.request_id AS first_to_address,
  s.request_id AS first_to_server,
  CASE WHEN p.of_provider THEN s.provider_request_id END AS first_to_provider
FROM pairs AS p
LEFT JOIN lanes AS l
  ON l.page = p.page AND l.connection_id IS NOT DISTINCT FROM p.connection_id AND l.origin IS NOT DISTINCT FROM p.origin
LEFT JOIN addresses_of_pages AS a ON a.page = p.page AND a.server_ip = p.server_ip
LEFT JOIN servers_of_pages AS s ON s.page = p.page AND s.server_key = p.server_key
