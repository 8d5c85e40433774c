-- One row per pair of hosts with evidence of level 2 (same edge) or more, of one owner, or against the pair.
-- scope: over the study
-- a: number of the host that comes first in the alphabet (numbered_hosts)
-- b: number of the other
-- level: the highest level of evidence
-- one_owner: one owner has both, by their registrable domain or by a certificate
-- contradicts: a server of one answered 421 for the other
SELECT
  a,
  b,
  max(level) AS level,
  bool_or(kind = 'one_owner') AS one_owner,
  bool_or(contradicts) AS contradicts
FROM colocation_evidence_by_number
WHERE level >= 2 OR kind = 'one_owner' OR contradicts
GROUP BY a, b
