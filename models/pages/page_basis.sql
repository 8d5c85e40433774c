-- Which visits count for which question, and why the others do not. Every answer to one of these questions counts exactly these
-- visits.
-- scope: by page
-- visit_id: the visit; all columns are those of the table page_basis
-- reason: the first reason that applies
WITH limits_of_visits AS (
  SELECT
    l.visit_id,
    l.not_the_page,
    coalesce(l.not_the_page, l.not_whole) AS not_whole,
    coalesce(l.not_the_page, l.not_whole, l.not_fresh) AS not_comparable,
    CASE
      WHEN c.measured_tls IS NULL THEN 'without connection ids'
      WHEN o.page IS NOT NULL THEN 'with more than 1,000 hosts or connections'
    END AS pairs_unknown,
    CASE WHEN c.paired_ideal_origin IS NULL THEN 'with a connection to an unknown address' END AS addresses_unknown,
    CASE WHEN c.chromium_tls_high IS NULL THEN 'modelled without the browsers'' rules' END AS browsers_unknown,
    CASE
      WHEN l.has_warm_sockets THEN 'recorded with some connections already open (preconnected or reused)'
      WHEN c.measured_dns IS NULL THEN 'without recorded lookups'
      WHEN c.paired_ideal_origin_dns IS NULL THEN 'with a lookup of a host at an unknown address'
    END AS lookups_unknown,
    CASE WHEN c.ideal_origin IS NULL THEN 'without any known address' END AS servers_unknown,
    CASE WHEN d.page IS NULL THEN 'without a document from the network' END AS document_unknown,
    CASE
      WHEN p.load_ms IS NULL OR p.load_ms <= 0 THEN 'without a load event'
      WHEN t.page IS NULL THEN 'without a request of known start'
      WHEN NOT t.has_address THEN 'without any known address'
      WHEN NOT t.has_handshake THEN 'without a DNS or connect phase'
      WHEN NOT t.has_request_before_load THEN 'without a request before the load event'
    END AS times_unknown
  FROM recording_limits AS l
  JOIN pages AS p ON p.page = l.page
  JOIN page_counts AS c ON c.visit_id = l.visit_id
  LEFT JOIN oversized_pages AS o ON o.page = l.page
  LEFT JOIN page_documents AS d ON d.page = l.page
  LEFT JOIN modelled_load_times AS t ON t.page = l.page
),
reasons_by_question AS (
  SELECT
    visit_id,
    unnest(
      [
        {'question': 'connections', 'reason': coalesce(not_comparable, pairs_unknown, addresses_unknown)},
        {'question': 'browsers', 'reason': coalesce(not_comparable, pairs_unknown, addresses_unknown, browsers_unknown)},
        {'question': 'causes', 'reason': coalesce(not_the_page, pairs_unknown, browsers_unknown)},
        {'question': 'lookups', 'reason': coalesce(not_comparable, lookups_unknown)},
        {'question': 'servers', 'reason': coalesce(not_whole, servers_unknown)},
        {'question': 'certificates', 'reason': coalesce(not_the_page, document_unknown)},
        {'question': 'load_times', 'reason': coalesce(not_comparable, times_unknown)}
      ],
      recursive := true
    )
  FROM limits_of_visits
)
SELECT visit_id, question, reason IS NULL AS counted, reason FROM reasons_by_question
