-- Connections beside the document's to servers with its server key, by the hosts that they carried. Only where the recorder
-- gives connection ids, and without connections that carried something for a bare address, for which no name can be added.
-- scope: by page
-- paper: section 4.4
-- site: the site
-- server_key: the server key
-- asn: the AS of the document's server
-- hosts: the hosts that the connection carried, in alphabetical order
-- connections: how many connections carried these
WITH
carried AS (
  SELECT DISTINCT page, connection_id, server_key, site, server_asn, host
  FROM document_server_connections
  WHERE connection_id IS NOT NULL AND connection_id IS DISTINCT FROM document_connection_id
),
of_connections AS (
  SELECT
    site, server_key, server_asn,
    list_sort(list(host) FILTER (host IS NOT NULL)) AS hosts,
    bool_or(is_ip_literal(host)) AS has_address
  FROM carried
  GROUP BY page, connection_id, site, server_key, server_asn
)
SELECT site, server_key, server_asn AS asn, hosts, count(*) AS connections
FROM of_connections
WHERE has_address IS NOT true AND hosts IS NOT NULL
GROUP BY site, server_key, server_asn, hosts
