-- For the providers that can save most: the names that they should add to the certificates of all their sites, and the share of
-- the connections caused by missing names that the first name saves, the first two, and so on. A provider is an AS, or the
-- server key of study model --colocation.
-- paper: table 9
-- parameter providers = 20: how many providers
-- provider: who runs the AS; a provider of the table providers has its name there
-- asn: the AS
-- rank: order in which to add the names
-- name: the name
-- sites: the provider's sites with requests to the name and a certificate without it
-- connections_saved: connections that the name saves in addition to those before it, over all visits [connections]
-- saved_pct: connections that it and those before it save [percent of the connections that all names together save]
-- proved_best: no other set of this many names saves more; false if that is not known
WITH cumulative_savings AS (
  SELECT *, sum(connections_saved_paper) OVER (PARTITION BY provider, asn ORDER BY rank) AS saved
  FROM provider_changes
),
largest_providers AS (
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
FROM cumulative_savings AS r
JOIN largest_providers AS l ON l.provider = r.provider AND l.asn IS NOT DISTINCT FROM r.asn
ORDER BY r.connections DESC, r.provider, r.asn, r.rank
