-- One row per page, connection, scheme, host, port and server address: a host-connection pair, that is a host that a connection
-- carried requests for. Two hosts are at one server if they have the same server key: by default the AS of their addresses, as
-- in the paper. An address whose AS (or other key) is not known is its own key.
-- scope: by page
-- paper: section 4.1
-- parameter colocation: what the server key is: asn, org, edge, tenant or ip
-- pair: its number in the batch, from 0
-- page: the page
-- connection_id: the connection; NULL if the recorder gives no ids
-- scheme: https, wss, http or ws
-- host: the host
-- port: its port
-- server_ip: the server's address
-- secure: over https or wss
-- connection_known: the connection's id was recorded, not inferred
-- started_ms: start of the pair's first request [ms]
-- request_id: the least request_id of the pair
-- requests: how many requests
-- refused: how many requests were answered with 421 (RFC 9110 section 15.5.20)
-- answered: how many requests were answered, with any status
-- succeeded: how many requests were answered with a 2xx or 3xx status
-- first_started: the least request_id of the requests whose start is known; NULL if there is none
-- first_response: the least request_id of the requests that were not answered with a redirect; NULL if there is none
-- first_document: the least request_id of those that are of type document; NULL if there is none
-- first_at_final_url: the least request_id of those that have the visit's final URL; NULL if there is none
-- lookups: how many requests have a DNS phase that took time
-- asn: the AS of the address
-- organisation: the organisation that runs the AS
-- server_key: servers with the same key count as one server; NULL if the address is not known
-- server_unknown: the address is known, but not its AS (or other key), so that it is its own key
WITH pairs AS (
  -- CASE takes less time than FILTER does.
  SELECT
    p.page, r.connection_id, r.scheme, r.host, r.port, r.server_ip, r.connection_known,
    min(r.started_ms) AS started_ms,
    min(r.request_id) AS request_id,
    min(CASE WHEN r.started_ms IS NOT NULL THEN r.request_id END) AS first_started,
    min(CASE WHEN NOT is_redirect(r.status) THEN r.request_id END) AS first_response,
    min(CASE WHEN NOT is_redirect(r.status) AND r.resource_type = 'document' THEN r.request_id END) AS first_document,
    min(CASE WHEN NOT is_redirect(r.status) AND r.url = p.final_url THEN r.request_id END) AS first_at_final_url,
    count(*)::INTEGER AS requests,
    count(CASE WHEN r.status = 421 THEN 1 END)::INTEGER AS refused,
    count(r.status)::INTEGER AS answered,
    count(CASE WHEN r.status BETWEEN 200 AND 399 THEN 1 END)::INTEGER AS succeeded,
    count(CASE WHEN r.dns_ms > 0 THEN 1 END)::INTEGER AS lookups
  FROM network_requests AS r
  JOIN pages AS p ON p.visit_id = r.visit_id
  GROUP BY p.page, r.connection_id, r.scheme, r.host, r.port, r.server_ip, r.connection_known
),
pairs_with_keys AS (
  SELECT
    p.*,
    p.scheme IN ('https', 'wss') AS secure,
    a.asn,
    a.organisation,
    CASE getvariable('colocation')
      WHEN 'asn' THEN a.asn::VARCHAR
      WHEN 'ip' THEN a.ip
      -- The equals sign keeps these keys apart from addresses and AS numbers.
      WHEN 'org' THEN '=' || a.organisation
      -- A host with several CDNs is on this edge only at times, and it is not recorded when.
      WHEN 'edge' THEN CASE WHEN h.multi_cdn IS DISTINCT FROM true THEN '=' || h.edge END
      WHEN 'tenant' THEN
        CASE WHEN h.multi_cdn IS DISTINCT FROM true THEN '=' || h.edge || '=' || h.registrable_domain END
    END AS shared_key
  FROM pairs AS p
  LEFT JOIN addresses AS a ON a.ip = p.server_ip
  -- Only these two keys depend on the host. Without the condition the join took a sixth of this model's time.
  LEFT JOIN hosts AS h ON h.host = p.host AND getvariable('colocation') IN ('edge', 'tenant')
)
SELECT
  row_number() OVER ()::INTEGER - 1 AS pair,
  * EXCLUDE (shared_key),
  CASE WHEN server_ip IS NOT NULL THEN coalesce(shared_key, server_ip) END AS server_key,
  server_ip IS NOT NULL AND shared_key IS NULL AS server_unknown
FROM pairs_with_keys
