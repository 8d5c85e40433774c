-- Names and addresses that pages send to the network, and how many of them an observer on the path can read, by channel and
-- model. What is encrypted (DNS over HTTPS, Encrypted Client Hello) is sent, but cannot be read.
-- vantage: the vantage; vantages are not pooled
-- browser: the browser that was recorded; browsers are not pooled
-- model: measured, chromium, firefox, planned_chromium, planned_firefox or best_case
-- channel: dns, sni or ip
-- names: names (channel ip: addresses) that are sent, over all sites, each with its average page
-- clear: of these, names that are readable on the path
-- unknown: of these, names for which it is not known whether they are readable, or whether they are sent
-- clear_per_page: readable names of a site's average page, mean over sites
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
