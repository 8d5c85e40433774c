-- Why redundant TLS connections were opened: the obstacle that must be removed first for each, and who can remove it.
-- NOT_DECIDABLE: the recording lacks what decides which obstacle that is. UNKNOWN: no known rule forbade the reuse.
-- vantage: the vantage; vantages are not pooled
-- browser: the browser; browsers are not pooled
-- cause: the code, as in redundant_connections
-- detail: the cause more exactly; NULL if there is no more to say
-- fixable_by: site, host_owner, cdn, browser or nobody; NULL if that is not known
-- connections: redundant connections with this as the first obstacle, over all sites, each with its average page [connections]
-- redundant_pct: the same [percent of all redundant connections]
-- pages: pages that have one
-- of_pages: pages counted
SELECT
  v.vantage,
  v.browser,
  r.cause,
  r.detail,
  r.fixable_by,
  round(sum(v.weight), 2) AS connections,
  round(100.0 * sum(v.weight) / sum(sum(v.weight)) OVER (PARTITION BY v.vantage, v.browser), 6) AS redundant_pct,
  count(DISTINCT (v.site, v.page)) AS pages,
  any_value(b.pages) AS of_pages
FROM counted_visits AS v
JOIN redundant_connections AS r ON r.visit_id = v.visit_id
JOIN basis_summary AS b
  ON b.question = v.question AND b.vantage IS NOT DISTINCT FROM v.vantage AND b.browser IS NOT DISTINCT FROM v.browser
WHERE v.question = 'causes'
GROUP BY v.vantage, v.browser, r.cause, r.detail, r.fixable_by
ORDER BY
  v.vantage NULLS LAST, v.browser NULLS LAST, connections DESC, r.cause, r.detail NULLS LAST, r.fixable_by NULLS LAST
