-- What the ASes that most requests went to serve: the most frequent content types of each; only requests that reached the
-- network. Servers whose AS is not known are one row's group, without a number.
-- paper: table 6
-- parameter ases = 10: how many ASes
-- parameter top = 5: how many content types of each
-- asn: the AS
-- as_name: its name
-- as_requests: requests to it
-- mime_type: content type without parameters; NULL where none was named
-- requests: requests for it there
-- of_as_pct: the same [percent of as_requests]
WITH
counted AS (
  SELECT a.asn, any_value(a.as_name) AS as_name, r.mime_type, count(*) AS requests
  FROM network_requests AS r
  LEFT JOIN addresses AS a ON a.ip = r.server_ip
  GROUP BY a.asn, r.mime_type
),
ranked AS (
  SELECT
    *,
    sum(requests) OVER (PARTITION BY asn)::BIGINT AS as_requests,
    row_number() OVER (PARTITION BY asn ORDER BY requests DESC, mime_type NULLS LAST) AS type_rank
  FROM counted
),
largest AS (
  SELECT *, dense_rank() OVER (ORDER BY as_requests DESC, asn NULLS LAST) AS as_rank FROM ranked
)
SELECT
  asn,
  as_name,
  as_requests,
  mime_type,
  requests,
  100.0 * requests / as_requests AS of_as_pct
FROM largest
WHERE as_rank <= $ases AND type_rank <= $top
ORDER BY as_rank, type_rank
