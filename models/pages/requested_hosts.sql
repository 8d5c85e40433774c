-- The hosts that pages of the batch requested, numbered in alphabetical order.
-- scope: by page
-- host_id: its number in the batch
-- host: the host
SELECT row_number() OVER (ORDER BY host)::INTEGER AS host_id, host
FROM (SELECT DISTINCT host FROM host_connections WHERE host IS NOT NULL)
