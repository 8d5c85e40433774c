-- The level of evidence that the server of a site's document can answer for a host with the same server key on its pages.
-- scope: over the study
-- server: the document's host
-- host: the other host
-- level: the highest level of evidence; 0 if there is none or if one contradicts, 5 if both are the same host
-- same_owner: both have the same registrable domain; NULL if one of them has none
WITH
pairs AS (
  SELECT DISTINCT server, host FROM colocated_hosts WHERE server IS NOT NULL AND host IS NOT NULL
),
levels AS (
  SELECT host_a, host_b, CASE WHEN bool_or(contradicts) THEN 0 ELSE max(level) END AS level
  FROM colocation_evidence
  GROUP BY host_a, host_b
)
SELECT
  p.server,
  p.host,
  CASE WHEN p.server = p.host THEN 5 ELSE coalesce(l.level, 0) END AS level,
  s.registrable_domain = h.registrable_domain AS same_owner
FROM pairs AS p
LEFT JOIN levels AS l ON l.host_a = least(p.server, p.host) AND l.host_b = greatest(p.server, p.host)
LEFT JOIN hosts AS s ON s.host = p.server
LEFT JOIN hosts AS h ON h.host = p.host
