-- Pages whose load time could not be modelled, by reason.
-- paper: figure 9a (its pages that were not modelled)
-- left_out_reason: why; NULL for pages that were modelled
-- pages: pages
SELECT left_out_reason, count(*) AS pages
FROM page_load_times
GROUP BY left_out_reason
ORDER BY left_out_reason NULLS FIRST
