-- How many redundant TLS connections each cause stands against, alone or with others: without a cause, those remain that
-- have another.
-- vantage: the vantage; each stands by itself
-- browser: the browser; each stands by itself
-- cause: the code, as in redundant_connections
-- connections: redundant connections to which it applies, over all sites, each with its average page [connections]
-- alone: those of them to which no other applies [connections]
-- pages: pages that have one
-- of_pages: pages counted
WITH applied AS (
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
FROM applied AS a
JOIN basis_summary AS b
  ON b.question = 'causes' AND b.vantage IS NOT DISTINCT FROM a.vantage AND b.browser IS NOT DISTINCT FROM a.browser
GROUP BY a.vantage, a.browser, a.cause
ORDER BY a.vantage NULLS LAST, a.browser NULLS LAST, connections DESC, a.cause
