-- What is known of each pair of hosts of which there is evidence of one edge or more, of one owner, or evidence against it.
-- scope: over the study
-- a: number of the host that comes first in the alphabet (numbered_hosts)
-- b: number of the other
-- level: the highest level of evidence
-- one_owner: one owner has both, as their names or a certificate say
-- contradicts: a server of one answered 421 for the other
SELECT
  a,
  b,
  max(level) AS level,
  bool_or(kind = 'one_owner') AS one_owner,
  bool_or(contradicts) AS contradicts
FROM numbered_evidence
WHERE level >= 2 OR kind = 'one_owner' OR contradicts
GROUP BY a, b
