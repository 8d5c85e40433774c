-- The names that are missing from most sites' certificates by the paper's rule.
-- paper: table 9 (over all providers)
-- parameter top = 100: rows at most
-- name: the missing host
-- sites: sites whose certificate lacks it
-- connections_saved: connections to it that the paper's ideal saves, over all visits; NULL where not known [connections]
-- level: highest level of evidence that one server can answer for a site and this name: 0 same AS ... 5 seen coalesced
SELECT
  name,
  count(*) AS sites,
  sum(connections_saved_paper)::BIGINT AS connections_saved,
  max(level) AS level
FROM certificate_additions
GROUP BY name
ORDER BY sites DESC, connections_saved DESC NULLS LAST, name
LIMIT $top
