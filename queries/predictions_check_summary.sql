-- The back-test: how often the browser that was recorded used as many connections as its rules predict without knowing which
-- requests shared one. Once over all pages, once by protocol, once by the cause of the error. Repeats are averaged in
-- a page, pages in a site.
-- vantage: the vantage; each stands by itself
-- browser: the browser that was recorded, and whose rules are applied; each stands by itself
-- part: all (a page's sum), protocol (its connections of one), or cause (pages outside the predicted range, by why)
-- value: the protocol, or the cause in the words of redundant_connections.cause; NULL for all
-- within_pct: pages whose recorded count is within the predicted range; NULL for causes [percent]
-- likely_pct: pages whose recorded count is the likeliest one, tls_likely; NULL for causes [percent]
-- width: tls_high less tls_low, mean [connections]
-- recorded: mean of what was recorded [connections]
-- error: how far outside the range, mean over all of these pages, above or below alike [connections]
-- pages: pages with such connections, predicted or recorded; for causes, pages outside the range for it
-- sites: their sites
-- of_pages: pages counted that the back-test covers
WITH
counted AS (
  SELECT v.vantage, v.browser, v.site, v.page, v.weight, v.visit_id
  FROM counted_visits AS v
  WHERE v.question = 'browsers' AND v.visit_id IN (SELECT visit_id FROM predictions_check)
),
parts AS (
  SELECT visit_id, 'all' AS part, NULL AS value, tls_low, tls_likely, tls_high, recorded, error
  FROM checked_pages
  UNION ALL
  SELECT visit_id, 'protocol', protocol, tls_low, tls_likely, tls_high, recorded, error FROM predictions_check
  UNION ALL
  SELECT visit_id, 'cause', error_cause, tls_low, tls_likely, tls_high, recorded, error FROM checked_pages WHERE NOT within
),
covered AS (
  SELECT vantage, browser, count(DISTINCT (site, page)) AS pages FROM counted GROUP BY ALL
)
SELECT
  c.vantage,
  c.browser,
  p.part,
  p.value,
  CASE WHEN p.part <> 'cause'
    THEN round(100.0 * sum(c.weight * (p.error = 0)::INTEGER) / sum(c.weight), 2) END AS within_pct,
  CASE WHEN p.part <> 'cause'
    THEN round(100.0 * sum(c.weight * (p.recorded = p.tls_likely)::INTEGER) / sum(c.weight), 2) END AS likely_pct,
  round(sum(c.weight * (p.tls_high - p.tls_low)) / sum(c.weight), 2) AS width,
  round(sum(c.weight * p.recorded) / sum(c.weight), 2) AS recorded,
  round(sum(c.weight * abs(p.error)) / sum(c.weight), 2) AS error,
  count(DISTINCT (c.site, c.page)) AS pages,
  count(DISTINCT c.site) AS sites,
  any_value(o.pages) AS of_pages
FROM counted AS c
JOIN parts AS p ON p.visit_id = c.visit_id
JOIN covered AS o ON o.vantage IS NOT DISTINCT FROM c.vantage AND o.browser IS NOT DISTINCT FROM c.browser
GROUP BY c.vantage, c.browser, p.part, p.value
ORDER BY c.vantage NULLS LAST, c.browser NULLS LAST, p.part, pages DESC, p.value
