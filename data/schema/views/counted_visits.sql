-- For each question (page_basis) the selected visits that count for it, with their weights. Vantages and browsers are not
-- pooled. A site has weight 1, which its pages share equally, and the visits of a page share the weight of the page. So
-- sum(weight * n) over a site is the mean of its pages, and over a study it is the sum over sites, each with its average
-- page.
-- scope: over the study
-- kept as: view
-- question: connections, browsers, causes, lookups, servers, load_times or certificates
-- visit_id: the visit
-- vantage: its vantage
-- browser: its browser
-- site: its site
-- page: its page
-- rank: the site's rank
-- weight: its share of its site
SELECT
  b.question, v.visit_id, v.vantage, v.browser, v.site, v.page, v.rank,
  1.0
    / count(*) OVER (PARTITION BY b.question, v.vantage, v.browser, v.site, v.page)
    / count(DISTINCT v.page) OVER (PARTITION BY b.question, v.vantage, v.browser, v.site) AS weight
FROM selected_visits AS v
JOIN page_basis AS b ON b.visit_id = v.visit_id
WHERE b.counted
