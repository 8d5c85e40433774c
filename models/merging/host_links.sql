-- The pairs of hosts of one page and server key that have evidence (requested_pair_evidence): of level 2 (same edge) or
-- more, of one owner, or against the pair.
-- scope: by page
-- server: the page and server key (mergeable_units)
-- host_a: number of the host that comes first in the alphabet (requested_hosts)
-- host_b: number of the other
-- level: the highest level of evidence
-- one_owner: one owner has both
-- contradicts: a server of one answered 421 for the other
WITH
hosts_with_evidence AS (
  SELECT host_a AS host_id FROM requested_pair_evidence
  UNION
  SELECT host_b FROM requested_pair_evidence
),
hosts_of_servers AS (
  SELECT DISTINCT server, host_id FROM mergeable_units WHERE host_id IN (SELECT host_id FROM hosts_with_evidence)
),
-- The pairs of each page first, because a host of many pages has evidence with very many others.
pairs AS MATERIALIZED (
  SELECT a.server, a.host_id AS host_a, b.host_id AS host_b
  FROM hosts_of_servers AS a
  JOIN hosts_of_servers AS b ON b.server = a.server AND a.host_id < b.host_id
)
SELECT p.server, p.host_a, p.host_b, e.level, e.one_owner, e.contradicts
FROM pairs AS p
JOIN requested_pair_evidence AS e ON e.host_a = p.host_a AND e.host_b = p.host_b
