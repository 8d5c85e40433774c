-- For each cause the redundant TLS connections that it applies to, alone or with other causes. If a cause is removed, only the
-- connections that it applies to alone can be saved.
-- vantage: the vantage; vantages are not pooled
-- browser: the browser; browsers are not pooled
-- cause: the code, as in redundant_connections
-- connections: redundant connections that it applies to, over all sites, each with its average page [connections]
-- alone: of these, connections that no other cause applies to [connections]
-- pages: pages that have one
-- of_pages: pages counted
WITH applicable_causes AS (
  SELECT
    v.vantage, v.browser, v.site, v.page, v.weight,
    unnest(r.causes) AS cause,
    len(r.causes) - 1 AS others
  FROM counted_visits AS v
  JOIN redundant_connections AS r ON r.visit_id = v.visit_id
  WHERE v.question = 'causes'
)
SELECT
  a.vantage,
  a.browser,
  a.cause,
  round(sum(a.weight), 2) AS connections,
  round(coalesce(sum(a.weight) FILTER (a.others = 0), 0), 2) AS alone,
  count(DISTINCT (a.site, a.page)) AS pages,
  any_value(b.pages) AS of_pages
FROM applicable_causes AS a
JOIN basis_summary AS b
  ON b.question = 'causes' AND b.vantage IS NOT DISTINCT FROM a.vantage AND b.browser IS NOT DISTINCT FROM a.browser
GROUP BY a.vantage, a.browser, a.cause
ORDER BY a.vantage NULLS LAST, a.browser NULLS LAST, connections DESC, a.cause
