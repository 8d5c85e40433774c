-- What recordings lack to decide why a connection was not shared: of redundant connections whose first obstacle is not known.
-- vantage: the vantage; vantages are not pooled
-- browser: the browser; browsers are not pooled
-- need: what is missing: certificate names, DNS answers, credentials, closing times, ...
-- connections: connections whose cause it would decide, over all sites, each with its average page [connections]
-- not_decidable_pct: the same [percent of all connections whose first obstacle is not known]
-- redundant_pct: the same [percent of all redundant connections]
-- pages: pages that have one
-- of_pages: pages counted
WITH
undecided_connections AS (
  SELECT v.vantage, v.browser, v.site, v.page, v.weight, r.cause, r.needs
  FROM counted_visits AS v
  JOIN redundant_connections AS r ON r.visit_id = v.visit_id
  WHERE v.question = 'causes'
),
totals AS (
  SELECT vantage, browser, sum(weight) AS redundant, sum(weight) FILTER (cause = 'NOT_DECIDABLE') AS undecidable
  FROM undecided_connections
  GROUP BY ALL
),
needs_of_connections AS (
  SELECT vantage, browser, site, page, weight, unnest(needs) AS need FROM undecided_connections WHERE cause = 'NOT_DECIDABLE'
)
SELECT
  n.vantage,
  n.browser,
  n.need,
  round(sum(n.weight), 2) AS connections,
  round(100.0 * sum(n.weight) / any_value(t.undecidable), 6) AS not_decidable_pct,
  round(100.0 * sum(n.weight) / any_value(t.redundant), 6) AS redundant_pct,
  count(DISTINCT (n.site, n.page)) AS pages,
  any_value(b.pages) AS of_pages
FROM needs_of_connections AS n
JOIN totals AS t ON t.vantage IS NOT DISTINCT FROM n.vantage AND t.browser IS NOT DISTINCT FROM n.browser
JOIN basis_summary AS b
  ON b.question = 'causes' AND b.vantage IS NOT DISTINCT FROM n.vantage AND b.browser IS NOT DISTINCT FROM n.browser
GROUP BY n.vantage, n.browser, n.need
ORDER BY n.vantage NULLS LAST, n.browser NULLS LAST, connections DESC, n.need
