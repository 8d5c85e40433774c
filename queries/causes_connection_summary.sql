-- Why TLS connections that an earlier one of their page could have served were opened: the obstacle that must go first for
-- each, and who could do something about it. NOT_DECIDABLE: the recorder left out what decides which that is. UNKNOWN: no
-- known rule forbade it.
-- cause: the code, as in redundant_connections
-- detail: what it is more exactly; NULL where there is nothing more
-- fixable_by: site, host_owner, cdn, browser or nobody; NULL where the cause is not known
-- connections: redundant connections of which it is the first obstacle [connections]
-- redundant_pct: the same [percent of all redundant connections]
-- pages: pages that have one
SELECT
  cause,
  detail,
  fixable_by,
  count(*) AS connections,
  100.0 * count(*) / sum(count(*)) OVER () AS redundant_pct,
  count(DISTINCT visit_id) AS pages
FROM redundant_connections
GROUP BY cause, detail, fixable_by
ORDER BY connections DESC, cause, detail NULLS LAST, fixable_by NULLS LAST
