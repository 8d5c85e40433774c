-- The most frequent content types of the ASes with most requests that reached the network. Servers whose AS is not known are
-- one group, without a number.
-- paper: table 6
-- parameter ases = 10: how many ASes of each vantage and browser
-- parameter top = 5: how many content types of each AS
-- vantage: the vantage; vantages are not pooled
-- browser: the browser; browsers are not pooled
-- asn: the AS
-- as_name: its name
-- as_requests: requests to it, over all sites, each with its average page
-- mime_type: content type without parameters; NULL if the response has none
-- requests: requests with this type to this AS, over all sites, each with its average page
-- of_as_pct: the same [percent of as_requests]
WITH
type_counts AS (
  SELECT
    v.vantage, v.browser, a.asn,
    any_value(a.as_name) AS as_name,
    r.mime_type,
    round(sum(v.weight), 2) AS requests
  FROM counted_visits AS v
  JOIN network_requests AS r ON r.visit_id = v.visit_id
  LEFT JOIN addresses AS a ON a.ip = r.server_ip
  WHERE v.question = 'servers'
  GROUP BY v.vantage, v.browser, a.asn, r.mime_type
),
ranked_types AS (
  SELECT
    *,
    round(sum(requests) OVER (PARTITION BY vantage, browser, asn), 2) AS as_requests,
    row_number() OVER (PARTITION BY vantage, browser, asn ORDER BY requests DESC, mime_type NULLS LAST) AS type_rank
  FROM type_counts
),
largest_asns AS (
  SELECT
    *,
    dense_rank() OVER (PARTITION BY vantage, browser ORDER BY as_requests DESC, asn NULLS LAST) AS as_rank
  FROM ranked_types
)
SELECT
  vantage,
  browser,
  asn,
  as_name,
  as_requests,
  mime_type,
  requests,
  100.0 * requests / as_requests AS of_as_pct
FROM largest_asns
WHERE as_rank <= $ases AND type_rank <= $top
ORDER BY vantage NULLS LAST, browser NULLS LAST, as_rank, type_rank
