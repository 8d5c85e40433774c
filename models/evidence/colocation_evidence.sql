-- The evidence about pairs of hosts (colocation_evidence_by_number), with the hosts' names in place of their numbers.
-- scope: over the study
-- host_a: the host that comes first in the alphabet; all columns are those of the table colocation_evidence
SELECT a.host AS host_a, b.host AS host_b, e.* EXCLUDE (a, b)
FROM colocation_evidence_by_number AS e
JOIN numbered_hosts AS a ON a.host_id = e.a
JOIN numbered_hosts AS b ON b.host_id = e.b
