-- The rows of pair_evidence between requested_hosts.
-- scope: by page
-- host_a: number of the host that comes first in the alphabet
-- host_b: number of the other
-- level: the highest level of evidence
-- one_owner: one owner has both
-- contradicts: a server of one answered 421 for the other
SELECT a.host_id AS host_a, b.host_id AS host_b, e.level, e.one_owner, e.contradicts
FROM pair_evidence AS e
JOIN requested_hosts AS a ON a.host = e.host_a
JOIN requested_hosts AS b ON b.host = e.host_b
