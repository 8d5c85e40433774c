-- Names and addresses that an observer on the path sees, by where and under which model. What is encrypted (DNS over HTTPS,
-- Encrypted Client Hello) is told but not seen.
-- vantage: the vantage; each stands by itself
-- browser: the browser that was recorded; each stands by itself
-- model: measured, chromium, firefox, planned_chromium, planned_firefox or best_case
-- channel: dns, sni or ip
-- names: names (of ip: addresses) told, over all sites, each with its average page
-- clear: those of them that are readable on the path
-- unknown: those of which that, or whether they are told at all, is not known
-- clear_per_page: readable ones of a site's average page, mean over sites
-- sites: sites counted
-- pages: pages counted
SELECT
  v.vantage,
  v.browser,
  e.model,
  e.channel,
  round(sum(v.weight), 2) AS names,
  round(coalesce(sum(v.weight) FILTER (e.clear), 0), 2) AS clear,
  round(coalesce(sum(v.weight) FILTER (e.clear IS NULL), 0), 2) AS unknown,
  round(coalesce(sum(v.weight) FILTER (e.clear), 0) / any_value(b.sites), 6) AS clear_per_page,
  any_value(b.sites) AS sites,
  any_value(b.pages) AS pages
FROM counted_visits AS v
JOIN exposures AS e ON e.visit_id = v.visit_id
JOIN basis_summary AS b
  ON b.question = v.question AND b.vantage IS NOT DISTINCT FROM v.vantage AND b.browser IS NOT DISTINCT FROM v.browser
WHERE v.question = 'browsers'
GROUP BY v.vantage, v.browser, e.model, e.channel
ORDER BY
  v.vantage NULLS LAST,
  v.browser NULLS LAST,
  list_position(['measured', 'chromium', 'firefox', 'planned_chromium', 'planned_firefox', 'best_case'], e.model),
  e.channel
