-- The rows of pair_evidence in which both hosts are in the batch (requested_hosts).
-- scope: by page
-- host_a: number of the host that comes first in the alphabet
-- host_b: number of the other
-- level: the highest level of evidence
-- one_owner: one owner has both
-- contradicts: a server of one answered 421 for the other
WITH requested_numbers AS (
  SELECT r.host_id, n.host_id AS number
  FROM requested_hosts AS r
  JOIN numbered_hosts AS n ON n.host = r.host
)
SELECT a.host_id AS host_a, b.host_id AS host_b, e.level, e.one_owner, e.contradicts
FROM pair_evidence AS e
JOIN requested_numbers AS a ON a.number = e.a
JOIN requested_numbers AS b ON b.number = e.b
