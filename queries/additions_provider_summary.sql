-- The names that the providers with most to save would best add to all their sites' certificates, and how much of all
-- that missing names cost there is saved with the first, the first two, and so on. Provider means AS, or what model was
-- asked for.
-- paper: table 9
-- parameter providers = 20: how many of them
-- provider: name of the AS
-- asn: its number
-- rank: order in which to add the names
-- name: the name
-- sites: the provider's sites that asked for it and whose certificate lacks it
-- connections_saved: connections that go away with it, over all visits [connections]
-- saved_pct: connections that go away with it and those before it [percent of all that missing names cost there]
-- proved_best: no other set of so many names saves more; false where that is not known
WITH reached AS (
  SELECT *, sum(connections_saved_paper) OVER (PARTITION BY provider, asn ORDER BY rank) AS saved
  FROM provider_changes
),
largest AS (
  SELECT provider, asn FROM provider_changes WHERE rank = 1 ORDER BY connections DESC, provider, asn LIMIT $providers
)
SELECT
  r.provider,
  r.asn,
  r.rank,
  r.name,
  r.sites,
  r.connections_saved_paper AS connections_saved,
  100.0 * r.saved / nullif(r.connections, 0) AS saved_pct,
  r.saved >= r.connections_saved_at_most AS proved_best
FROM reached AS r
JOIN largest AS l ON l.provider = r.provider AND l.asn IS NOT DISTINCT FROM r.asn
ORDER BY r.connections DESC, r.provider, r.asn, r.rank
