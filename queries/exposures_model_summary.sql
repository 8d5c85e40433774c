-- Names and addresses that an observer on the path sees, by where and under which model, over pages that did not fail. What
-- is encrypted (DNS over HTTPS, Encrypted Client Hello) is told but not seen.
-- model: measured, chromium, firefox, planned_chromium, planned_firefox or best_case
-- channel: dns, sni or ip
-- names: names (of ip: addresses) told, over all pages
-- clear: those of them that are readable on the path
-- unknown: those of which that, or whether they are told at all, is not known
-- clear_per_page: readable ones a page, mean
-- pages: pages counted: without those of too many hosts or connections
WITH
pages AS (
  SELECT visit_id
  FROM visits
  JOIN page_counts USING (visit_id)
  WHERE status != 'failed' AND chromium_tls_high IS NOT NULL
)
SELECT
  e.model,
  e.channel,
  count(*) AS names,
  count(*) FILTER (WHERE e.clear) AS clear,
  count(*) FILTER (WHERE e.clear IS NULL) AS unknown,
  count(*) FILTER (WHERE e.clear) / (SELECT count(*) FROM pages)::DOUBLE AS clear_per_page,
  (SELECT count(*) FROM pages) AS pages
FROM exposures AS e
JOIN pages USING (visit_id)
GROUP BY e.model, e.channel
ORDER BY
  list_position(
    ['measured', 'chromium', 'firefox', 'planned_chromium', 'planned_firefox', 'best_case'],
    e.model
  ),
  e.channel
