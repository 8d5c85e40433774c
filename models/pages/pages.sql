-- The visits of the batch, numbered. Other models join and group by the number, which is faster than by the visit_id.
-- scope: by page
-- visit_id: the visit
-- page: its number in the batch, from 0
-- started_at: when the visit began
-- load_ms: its load event [ms]
-- final_url: its document's URL after redirects
SELECT visit_id, row_number() OVER ()::INTEGER - 1 AS page, started_at, load_ms, final_url FROM visits
