-- The visits of the batch, numbered: what the other models join and group pages by, as a number is cheaper than a text.
-- scope: by page
-- visit_id: the visit
-- page: its number in the batch
-- started_at: when the visit began
-- load_ms: its load event [ms]
-- final_url: its document's URL after redirects
SELECT visit_id, row_number() OVER ()::INTEGER AS page, started_at, load_ms, final_url FROM visits
