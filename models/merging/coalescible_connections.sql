-- The connections, other than the document's own, to servers with the document's server key, grouped by the hosts that they
-- carried. Left out are requests without connection ids, and connections that carried a request to an IP address, which is not
-- a name that a certificate could get.
-- scope: by page
-- paper: section 4.4
-- site: the site
-- server_key: the server key
-- asn: the AS of the document's server
-- hosts: the hosts that the connection carried, in alphabetical order
-- connections: how many connections carried exactly these hosts
WITH
carried_hosts_of_pages AS (
  SELECT DISTINCT page, connection_id, server_key, site, server_asn, host
  FROM document_server_connections
  WHERE connection_id IS NOT NULL AND connection_id IS DISTINCT FROM document_connection_id
),
hosts_of_connections AS (
  SELECT
    site, server_key, server_asn,
    list_sort(list(host) FILTER (host IS NOT NULL)) AS hosts,
    bool_or(is_ip_literal(host)) AS has_address
  FROM carried_hosts_of_pages
  GROUP BY page, connection_id, site, server_key, server_asn
)
SELECT site, server_key, server_asn AS asn, hosts, count(*) AS connections
FROM hosts_of_connections
WHERE has_address IS NOT true AND hosts IS NOT NULL
GROUP BY site, server_key, server_asn, hosts
