-- The timelines of each visit, a causal one and the paper's; models, not measurements. The modelled times are all there or all NULL, so that
-- they compare the same pages.
-- paper: section 4, figures 2 and 9a
-- visit_id: the visit; all columns are those of the table page_load_times
-- left_out_reason: failed, truncated, partial, proxied, warm_start, preserved_log, cached_hosts (what the recording lacks, as
--   in visits.quality), no_load_time, no_requests, no_addresses (no server is known), no_handshakes (the recorder shows no DNS
--   or connect phase, so that nothing is known of what could be saved), no_request_before_load
WITH judged AS (
  SELECT
    v.visit_id,
    v.load_ms AS measured_ms,
    t.ip_ms, t.origin_ms, t.provider_ms,
    t.paper_ip_ms, t.paper_origin_ms, t.paper_provider_ms,
    CASE
      WHEN v.status = 'failed' THEN 'failed'
      WHEN list_contains(v.quality, 'truncated') THEN 'truncated'
      WHEN list_contains(v.quality, 'partial') THEN 'partial'
      WHEN list_contains(v.quality, 'proxied') THEN 'proxied'
      WHEN list_contains(v.quality, 'warm_start') THEN 'warm_start'
      WHEN list_contains(v.quality, 'preserved_log') THEN 'preserved_log'
      WHEN list_contains(v.quality, 'cached_hosts') THEN 'cached_hosts'
      WHEN v.load_ms IS NULL OR v.load_ms <= 0 THEN 'no_load_time'
      WHEN t.page IS NULL THEN 'no_requests'
      WHEN NOT t.has_address THEN 'no_addresses'
      WHEN NOT t.has_handshake THEN 'no_handshakes'
      WHEN NOT t.has_request_before_load THEN 'no_request_before_load'
    END AS left_out_reason
  FROM visits AS v
  JOIN pages AS p ON p.visit_id = v.visit_id
  LEFT JOIN modelled_load_times AS t ON t.page = p.page
)
SELECT
  visit_id,
  measured_ms,
  CASE WHEN left_out_reason IS NULL THEN ip_ms END AS ip_ms,
  CASE WHEN left_out_reason IS NULL THEN origin_ms END AS origin_ms,
  CASE WHEN left_out_reason IS NULL THEN provider_ms END AS provider_ms,
  CASE WHEN left_out_reason IS NULL THEN paper_ip_ms END AS paper_ip_ms,
  CASE WHEN left_out_reason IS NULL THEN paper_origin_ms END AS paper_origin_ms,
  CASE WHEN left_out_reason IS NULL THEN paper_provider_ms END AS paper_provider_ms,
  left_out_reason
FROM judged
