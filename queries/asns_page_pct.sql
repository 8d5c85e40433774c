-- How many ASes pages need: the share of pages for each number. The paper's ideal ORIGIN count of a page is its number
-- of ASes. Pages that failed or of which no address is known are not in it, nor those of which the recording shows only a part.
-- paper: figure 1
-- asns: distinct ASes of the page's servers, each address in no known AS counted as one (or what model was asked for)
-- pages: pages with that number
-- pct: share of pages [percent]
-- cumulative_pct: share of pages with that number or fewer [percent]
WITH counted AS (
  SELECT c.ideal_origin AS asns, count(*) AS pages
  FROM page_counts AS c
  JOIN visits AS v USING (visit_id)
  WHERE v.status IS DISTINCT FROM 'failed' AND c.ideal_origin IS NOT NULL
    AND NOT coalesce(list_has_any(v.quality, ['truncated', 'partial', 'proxied', 'cached_hosts']), false)
  GROUP BY asns
)
SELECT
  asns,
  pages,
  100.0 * pages / sum(pages) OVER () AS pct,
  100.0 * sum(pages) OVER (ORDER BY asns) / sum(pages) OVER () AS cumulative_pct
FROM counted
ORDER BY asns
