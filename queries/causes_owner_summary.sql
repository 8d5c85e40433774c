-- The owners of the hosts that redundant connections were opened for, those with most connections first. An owner is a
-- registrable domain. First parties are the owners of the pages' documents.
-- parameter top = 100: rows at most, of each vantage and browser
-- vantage: the vantage; vantages are not pooled
-- browser: the browser; browsers are not pooled
-- owner_domain: the registrable domain of the hosts, or the host itself where it has none
-- third_party: the hosts have another registrable domain than the page's document; NULL if no document was recorded
-- connections: redundant connections, over all sites, each with its average page [connections]
-- redundant_pct: the same [percent of all redundant connections]
-- pages: pages that have one
-- of_pages: pages counted
WITH connection_owners AS (
  SELECT
    v.vantage, v.browser, v.site, v.page, v.weight,
    o.owner_domain,
    o.owner_domain <> f.owner_domain AS third_party
  FROM counted_visits AS v
  JOIN redundant_connections AS r ON r.visit_id = v.visit_id
  LEFT JOIN host_owners AS o ON o.host = r.host
  LEFT JOIN documents AS d ON d.visit_id = v.visit_id
  LEFT JOIN host_owners AS f ON f.host = d.host
  WHERE v.question = 'causes'
)
SELECT
  w.vantage,
  w.browser,
  w.owner_domain,
  w.third_party,
  round(sum(w.weight), 2) AS connections,
  round(100.0 * sum(w.weight) / sum(sum(w.weight)) OVER (PARTITION BY w.vantage, w.browser), 6) AS redundant_pct,
  count(DISTINCT (w.site, w.page)) AS pages,
  any_value(b.pages) AS of_pages
FROM connection_owners AS w
JOIN basis_summary AS b
  ON b.question = 'causes' AND b.vantage IS NOT DISTINCT FROM w.vantage AND b.browser IS NOT DISTINCT FROM w.browser
GROUP BY w.vantage, w.browser, w.owner_domain, w.third_party
QUALIFY
  row_number() OVER (PARTITION BY w.vantage, w.browser ORDER BY connections DESC, w.owner_domain, w.third_party) <= $top
ORDER BY w.vantage NULLS LAST, w.browser NULLS LAST, connections DESC, w.owner_domain, w.third_party
