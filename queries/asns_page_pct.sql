-- In how many ASes the servers of a page are: the share of sites for each number, which is that of a site's average page,
-- rounded. All requests that reached the network count, cleartext ones too. The paper's ideal ORIGIN count of a page is its
-- number of ASes.
-- paper: figure 1
-- vantage: the vantage; each stands by itself
-- browser: the browser; each stands by itself
-- asns: distinct ASes of the page's servers, each address in no known AS counted as one (or what model was asked for)
-- sites: sites with that number
-- pct: share of sites [percent]
-- cumulative_pct: share of sites with that number or fewer [percent]
WITH
of_sites AS (
  SELECT v.vantage, v.browser, v.site, round(sum(v.weight * c.ideal_origin ORDER BY v.visit_id))::INTEGER AS asns
  FROM counted_visits AS v
  JOIN page_counts AS c ON c.visit_id = v.visit_id
  WHERE v.question = 'servers'
  GROUP BY ALL
),
counted AS (
  SELECT vantage, browser, asns, count(*) AS sites FROM of_sites GROUP BY ALL
)
SELECT
  vantage,
  browser,
  asns,
  sites,
  100.0 * sites / sum(sites) OVER (PARTITION BY vantage, browser) AS pct,
  100.0 * sum(sites) OVER (PARTITION BY vantage, browser ORDER BY asns) / sum(sites) OVER (PARTITION BY vantage, browser)
    AS cumulative_pct
FROM counted
ORDER BY vantage NULLS LAST, browser NULLS LAST, asns
