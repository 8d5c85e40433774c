-- Requests by content type; only requests that reached the network. One row, without a type, is for responses that named
-- none and for requests without a response.
-- paper: table 5
-- parameter top = 100: rows at most
-- mime_type: content type without parameters
-- requests: requests
-- requests_pct: the same [percent of all]
-- bytes: responses as transferred, of those whose size is known; NULL where none is [bytes]
-- hosts: distinct hosts that served it
-- visits: visits with such a request
SELECT
  r.mime_type,
  count(*) AS requests,
  100.0 * count(*) / sum(count(*)) OVER () AS requests_pct,
  sum(r.bytes)::BIGINT AS bytes,
  count(DISTINCT r.host) AS hosts,
  count(DISTINCT r.visit_id) AS visits
FROM network_requests AS r
GROUP BY r.mime_type
ORDER BY requests DESC, r.mime_type NULLS LAST
LIMIT $top
