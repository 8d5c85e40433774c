-- The modelled load times of each visit, by the causal timeline and by the paper's. These are models, not measurements. Either
-- all modelled times of a visit are known or none, so that averages are of the same pages.
-- scope: by page
-- paper: section 4, figures 2 and 9a
-- visit_id: the visit; all columns are those of the table page_load_times
-- left_out_reason: why the visit does not count for load times (page_basis.reason)
SELECT
  p.visit_id,
  p.load_ms AS measured_ms,
  CASE WHEN b.counted THEN t.ip_ms END AS ip_ms,
  CASE WHEN b.counted THEN t.origin_ms END AS origin_ms,
  CASE WHEN b.counted THEN t.provider_ms END AS provider_ms,
  CASE WHEN b.counted THEN t.paper_ip_ms END AS paper_ip_ms,
  CASE WHEN b.counted THEN t.paper_origin_ms END AS paper_origin_ms,
  CASE WHEN b.counted THEN t.paper_provider_ms END AS paper_provider_ms,
  b.reason AS left_out_reason
FROM pages AS p
JOIN page_basis AS b ON b.visit_id = p.visit_id AND b.question = 'load_times'
LEFT JOIN modelled_load_times AS t ON t.page = p.page
