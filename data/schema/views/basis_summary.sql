-- How many sites, pages and visits count for each question, how many pages were left out, and why. A page counts if one of its
-- visits counts.
-- question: connections, browsers, causes, lookups, servers, load_times or certificates
-- vantage: the vantage
-- browser: the browser
-- sites: sites with a page that counts
-- pages: pages that count
-- visits: visits that count
-- left_out: pages without a visit that counts
-- left_out_why: the number of these pages for each reason; NULL if there are none
WITH
of_pages AS (
  SELECT
    b.question, v.vantage, v.browser, v.site, v.page,
    count(*) FILTER (b.counted) AS visits,
    min(b.reason) AS reason
  FROM selected_visits AS v
  JOIN page_basis AS b ON b.visit_id = v.visit_id
  GROUP BY ALL
),
reasons AS (
  SELECT question, vantage, browser, reason, count(*) AS pages
  FROM of_pages
  WHERE visits = 0
  GROUP BY ALL
),
left_out AS (
  SELECT
    question, vantage, browser,
    sum(pages)::BIGINT AS pages,
    string_agg(pages::VARCHAR || ' ' || reason, ', ' ORDER BY reason) AS why
  FROM reasons
  GROUP BY ALL
),
counted AS (
  SELECT
    question, vantage, browser,
    count(DISTINCT site) FILTER (visits > 0) AS sites,
    count(*) FILTER (visits > 0) AS pages,
    sum(visits)::BIGINT AS visits
  FROM of_pages
  GROUP BY ALL
)
SELECT
  c.question, c.vantage, c.browser, c.sites, c.pages, c.visits,
  coalesce(l.pages, 0) AS left_out,
  l.why AS left_out_why
FROM counted AS c
LEFT JOIN left_out AS l
  ON l.question = c.question AND l.vantage IS NOT DISTINCT FROM c.vantage AND l.browser IS NOT DISTINCT FROM c.browser
