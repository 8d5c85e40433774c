-- The hosts of pages and of evidence, numbered in alphabetical order: two numbers are compared faster than two texts, with the
-- same result.
-- scope: over the study
-- host_id: the number
-- host: the host
WITH all_hosts AS (
  SELECT host FROM host_addresses
  UNION
  SELECT host_a FROM misdirected_pairs
  UNION
  SELECT host_b FROM misdirected_pairs
)
SELECT row_number() OVER (ORDER BY host)::INTEGER AS host_id, host FROM all_hosts
