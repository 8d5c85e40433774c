-- The number of ASes that the servers of a page are in: the share of sites for each number. The number of a site is that of its
-- average page, rounded. All requests that reached the network count, cleartext requests too. The paper's ideal ORIGIN count of
-- a page is its number of ASes.
-- paper: figure 1
-- vantage: the vantage; vantages are not pooled
-- browser: the browser; browsers are not pooled
-- asns: distinct ASes of the page's servers (or server keys of study model --colocation); an address in no known AS counts as one
-- sites: sites with that number
-- pct: share of sites [percent]
-- cumulative_pct: share of sites with that number or fewer [percent]
WITH
site_asns AS (
  SELECT v.vantage, v.browser, v.site, round(sum(v.weight * c.ideal_origin ORDER BY v.visit_id))::INTEGER AS asns
  FROM counted_visits AS v
  JOIN page_counts AS c ON c.visit_id = v.visit_id
  WHERE v.question = 'servers'
  GROUP BY ALL
),
sites_by_asns AS (
  SELECT vantage, browser, asns, count(*) AS sites FROM site_asns GROUP BY ALL
)
SELECT
  vantage,
  browser,
  asns,
  sites,
  100.0 * sites / sum(sites) OVER (PARTITION BY vantage, browser) AS pct,
  100.0 * sum(sites) OVER (PARTITION BY vantage, browser ORDER BY asns) / sum(sites) OVER (PARTITION BY vantage, browser)
    AS cumulative_pct
FROM sites_by_asns
ORDER BY vantage NULLS LAST, browser NULLS LAST, asns
