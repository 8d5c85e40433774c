-- Load times of each page, measured and by the paper's timeline, one row a page, without saying which: a model, not a
-- measurement; the authors' own live test found no effect. Only pages for which all were modelled, so that they compare.
-- paper: figure 9a
-- page_load_times: load event as recorded [ms]
-- ip_page_load_times: modelled under IP coalescing [ms]
-- as_page_load_times: modelled under ORIGIN coalescing [ms]
-- cf_only_page_load_times: modelled if one provider alone coalesces; NULL unless model was given one [ms]
SELECT
  measured_ms AS page_load_times,
  paper_ip_ms AS ip_page_load_times,
  paper_origin_ms AS as_page_load_times,
  paper_provider_ms AS cf_only_page_load_times
FROM page_load_times
WHERE left_out_reason IS NULL
ORDER BY ALL NULLS FIRST
