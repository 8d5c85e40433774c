-- The TLS connections and DNS lookups of each visit at each rung of the ladder: measured, without duplicates, by the browsers'
-- rules with servers as they are (Chromium also with third-party cookies blocked), and under each ideal. All rungs of the
-- connections are of the same requests: https and wss requests with a known connection. All rungs of the lookups are of the
-- same hosts, which are those of the page's requests that were looked up.
-- question: connections or lookups; visits that count for it (page_basis) have all rungs
-- step: the order of the rungs
-- rung: the rung's name
-- comparison_only: the rung is for comparison only: it is not a step between its neighbours
-- visit_id: the visit
-- aside: the former name of comparison_only, which the next format of a study does not have
-- n: how many connections or lookups; NULL where not known, such as a browser's if the models ran without the browsers' rules
WITH
colocation AS (
  SELECT coalesce(
    (SELECT parameters ->> '$.colocation' FROM runs WHERE command IN ('analyze', 'model') ORDER BY run_id DESC LIMIT 1),
    'asn'
  ) AS name
),
best AS (
  SELECT CASE name
    WHEN 'asn' THEN 'same AS (the paper''s ideal ORIGIN)'
    WHEN 'ip' THEN 'same address'
    ELSE 'same ' || name
  END AS rung
  FROM colocation
),
rungs AS (
  SELECT
    c.visit_id,
    unnest([
      {'question': 'connections', 'step': 1, 'rung': 'measured', 'comparison_only': false,
        'n': c.measured_tls},
      {'question': 'connections', 'step': 2, 'rung': 'without same-host duplicates', 'comparison_only': false,
        'n': c.without_duplicates},
      {'question': 'connections', 'step': 3, 'rung': 'Chromium with servers as they are, at most', 'comparison_only': true,
        'n': c.chromium_tls_high},
      {'question': 'connections', 'step': 4, 'rung': 'Chromium with servers as they are, most likely', 'comparison_only': true,
        'n': c.chromium_tls_likely},
      {'question': 'connections', 'step': 5, 'rung': 'Chromium with servers as they are, at least', 'comparison_only': true,
        'n': c.chromium_tls_low},
      {'question': 'connections', 'step': 6, 'rung': 'Chromium with third-party cookies blocked, at most', 'comparison_only': true,
        'n': c.chromium_cookies_blocked_tls_high},
      {'question': 'connections', 'step': 7, 'rung': 'Chromium with third-party cookies blocked, most likely', 'comparison_only': true,
        'n': c.chromium_cookies_blocked_tls_likely},
      {'question': 'connections', 'step': 8, 'rung': 'Chromium with third-party cookies blocked, at least', 'comparison_only': true,
        'n': c.chromium_cookies_blocked_tls_low},
      {'question': 'connections', 'step': 9, 'rung': 'Firefox with servers as they are, at most', 'comparison_only': true,
        'n': c.firefox_tls_high},
      {'question': 'connections', 'step': 10, 'rung': 'Firefox with servers as they are, most likely', 'comparison_only': true,
        'n': c.firefox_tls_likely},
      {'question': 'connections', 'step': 11, 'rung': 'Firefox with servers as they are, at least', 'comparison_only': true,
        'n': c.firefox_tls_low},
      {'question': 'connections', 'step': 12, 'rung': 'same address (the paper''s ideal IP)', 'comparison_only': true,
        'n': c.paired_ideal_ip},
      {'question': 'connections', 'step': 13, 'rung': 'deployable: same edge and certificate', 'comparison_only': false,
        'n': c.paired_ideal_deployable},
      {'question': 'connections', 'step': 14, 'rung': 'same edge', 'comparison_only': false,
        'n': c.paired_ideal_edge},
      {'question': 'connections', 'step': 15, 'rung': 'one owner, different machines', 'comparison_only': false,
        'n': c.paired_ideal_owner},
      {'question': 'connections', 'step': 16, 'rung': b.rung, 'comparison_only': false,
        'n': c.paired_ideal_origin},
      {'question': 'lookups', 'step': 1, 'rung': 'measured', 'comparison_only': false,
        'n': c.measured_dns},
      {'question': 'lookups', 'step': 2, 'rung': 'without repeated and unused ones', 'comparison_only': false,
        'n': c.paired_dns},
      {'question': 'lookups', 'step': 3, 'rung': 'Chromium with servers as they are', 'comparison_only': true,
        'n': c.paired_chromium_dns},
      {'question': 'lookups', 'step': 4, 'rung': 'Chromium with third-party cookies blocked', 'comparison_only': true,
        'n': c.paired_chromium_cookies_blocked_dns},
      {'question': 'lookups', 'step': 5, 'rung': 'Firefox with servers as they are', 'comparison_only': true,
        'n': c.paired_firefox_dns},
      {'question': 'lookups', 'step': 6, 'rung': 'same address (the paper''s ideal IP)', 'comparison_only': true,
        'n': c.paired_ideal_ip_dns},
      {'question': 'lookups', 'step': 7, 'rung': b.rung, 'comparison_only': false,
        'n': c.paired_ideal_origin_dns}
    ], recursive := true)
  FROM page_counts AS c, best AS b
)
SELECT question, step, rung, comparison_only, visit_id, n, comparison_only AS aside FROM rungs
