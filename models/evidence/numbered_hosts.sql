-- The hosts that pages asked for or that evidence tells of, numbered in alphabetical order: a pair of numbers is compared
-- faster than a pair of texts, and is in the same order.
-- scope: over the study
-- host_id: the number
-- host: the host
WITH named AS (
  SELECT host FROM host_addresses
  UNION
  SELECT host_a FROM misdirected_pairs
  UNION
  SELECT host_b FROM misdirected_pairs
)
SELECT row_number() OVER (ORDER BY host)::INTEGER AS host_id, host FROM named
