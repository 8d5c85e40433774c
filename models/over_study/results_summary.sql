-- The results of one run of the models in one row, to compare runs that differ in one choice.
-- pages: pages that did not fail, with a measured and an ideal count of the same requests; all columns are those of the table
--   model_sensitivity
WITH
counts AS (
  SELECT c.measured_tls, c.paired_ideal_origin, c.paired_ideal_deployable
  FROM page_counts AS c
  JOIN visits AS v ON v.visit_id = c.visit_id
  WHERE
    v.status IS DISTINCT FROM 'failed'
    AND c.measured_tls IS NOT NULL
    AND c.paired_ideal_origin IS NOT NULL
    AND c.paired_ideal_deployable IS NOT NULL
),
loads AS (
  SELECT measured_ms, origin_ms FROM page_load_times WHERE measured_ms IS NOT NULL AND origin_ms IS NOT NULL
),
of_counts AS (
  SELECT
    count(*) AS pages,
    median(measured_tls) AS median_measured_tls,
    median(paired_ideal_origin) AS median_ideal_origin,
    coalesce(sum(measured_tls - paired_ideal_origin), 0)::BIGINT AS connections_saved,
    coalesce(sum(measured_tls - paired_ideal_deployable), 0)::BIGINT AS connections_saved_deployable
  FROM counts
),
of_sites AS (
  SELECT 100.0 * avg((additions = 0)::INTEGER) AS sites_unchanged_pct, coalesce(sum(additions), 0)::BIGINT AS additions
  FROM site_certificates
  WHERE additions IS NOT NULL
),
of_loads AS (
  SELECT
    count(*) AS timelines,
    median(measured_ms) AS median_load_ms,
    median(origin_ms) AS median_origin_ms,
    -- Sums of floating-point numbers depend on their order.
    coalesce(sum(measured_ms - origin_ms ORDER BY measured_ms - origin_ms), 0) AS load_saved_ms
  FROM loads
)
SELECT * FROM of_counts, of_sites, of_loads
