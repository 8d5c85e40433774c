-- One row for each site, host of its documents, and host with the same server key on its pages (colocated_hosts): the visits
-- together, and the level of evidence that the document's server can answer for the host.
-- scope: over the study
-- paper: section 4.3
-- site: the site
-- server: the document's host
-- host: the other host; or the document's own
-- port: its port; if it has several, the one with most visits
-- visits: how many visits
-- requests: requests for it
-- connections: connections opened for it, other than the document's; NULL where no recorder gives connection ids
-- level: the highest level of evidence; 0 if there is none or if one contradicts, 5 if both are the same host
-- same_owner: both have the same registrable domain; NULL if one of them has none
WITH
hosts_by_port AS (
  SELECT
    site, server, host, port,
    count(*) AS visits,
    sum(requests) AS requests,
    sum(connections) AS connections
  FROM colocated_hosts
  WHERE server IS NOT NULL AND host IS NOT NULL
  GROUP BY site, server, host, port
),
hosts_of_servers AS (
  SELECT
    site, server, host,
    first(port ORDER BY visits DESC, port NULLS FIRST) AS port,
    sum(visits) AS visits,
    sum(requests) AS requests,
    sum(connections) AS connections
  FROM hosts_by_port
  GROUP BY site, server, host
),
levels AS (
  SELECT a, b, CASE WHEN bool_or(contradicts) THEN 0 ELSE max(level) END AS level
  FROM colocation_evidence_by_number
  GROUP BY a, b
)
SELECT
  m.*,
  CASE WHEN m.server = m.host THEN 5 ELSE coalesce(l.level, 0) END AS level,
  s.registrable_domain = h.registrable_domain AS same_owner
FROM hosts_of_servers AS m
JOIN numbered_hosts AS s ON s.host = m.server
JOIN numbered_hosts AS h ON h.host = m.host
LEFT JOIN levels AS l ON l.a = least(s.host_id, h.host_id) AND l.b = greatest(s.host_id, h.host_id)
