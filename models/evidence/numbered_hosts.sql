-- The hosts of pages and of evidence, numbered in alphabetical order: two numbers are compared faster than two texts, with the
-- same result.
-- scope: over the study
-- host_id: the number
-- host: the host
-- registrable_domain: its registrable domain; NULL if that is not known
-- edge: the provider whose edge alone serves it; NULL if there is none, or it is not known
WITH all_hosts AS (
  SELECT host FROM requested_hosts
  UNION
  SELECT host_a FROM misdirected_pairs
  UNION
  SELECT host_b FROM misdirected_pairs
)
SELECT
  row_number() OVER (ORDER BY a.host)::INTEGER AS host_id,
  a.host,
  h.registrable_domain,
  -- A host with several CDNs is on this edge only at times, and it is not recorded when.
  CASE WHEN h.multi_cdn IS DISTINCT FROM true THEN h.edge END AS edge
FROM all_hosts AS a
LEFT JOIN hosts AS h ON h.host = a.host
