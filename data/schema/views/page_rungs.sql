-- What each visit needs at each rung of the ladder: TLS connections and DNS lookups as measured, without what is needed
-- twice, by the browsers' rules with servers as they are (Chromium's with third-party cookies as recorded, and blocked), and at
-- best. All rungs for TLS count the same requests: https and wss
-- requests with a known connection. All rungs for DNS count the same hosts: those of the page's requests that were looked up.
-- question: connections or lookups: the visits that count for it (page_basis) are those of which all rungs are known
-- step: the order of rungs
-- rung: the step in words
-- aside: true for a rung that is no step between its neighbours, but shown for comparison
-- visit_id: the visit
-- n: how many; NULL where not known, as for the browsers' rungs if the models ran without the browsers' rules
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
      {'question': 'connections', 'step': 1, 'rung': 'measured', 'aside': false, 'n': c.measured_tls},
      {'question': 'connections', 'step': 2, 'rung': 'without same-host duplicates', 'aside': false, 'n': c.without_duplicates},
      {'question': 'connections', 'step': 3, 'rung': 'Chromium with servers as they are, at most', 'aside': true,
        'n': c.chromium_tls_high},
      {'question': 'connections', 'step': 4, 'rung': 'Chromium with servers as they are, at least', 'aside': true,
        'n': c.chromium_tls_low},
      {'question': 'connections', 'step': 5, 'rung': 'Chromium with third-party cookies blocked, at most', 'aside': true,
        'n': c.chromium_cookies_blocked_tls_high},
      {'question': 'connections', 'step': 6, 'rung': 'Chromium with third-party cookies blocked, at least', 'aside': true,
        'n': c.chromium_cookies_blocked_tls_low},
      {'question': 'connections', 'step': 7, 'rung': 'Firefox with servers as they are, at most', 'aside': true,
        'n': c.firefox_tls_high},
      {'question': 'connections', 'step': 8, 'rung': 'Firefox with servers as they are, at least', 'aside': true,
        'n': c.firefox_tls_low},
      {'question': 'connections', 'step': 9, 'rung': 'same address (the paper''s ideal IP)', 'aside': true,
        'n': c.paired_ideal_ip},
      {'question': 'connections', 'step': 10, 'rung': 'deployable: same edge and certificate', 'aside': false,
        'n': c.paired_ideal_deployable},
      {'question': 'connections', 'step': 11, 'rung': 'same edge', 'aside': false, 'n': c.paired_ideal_edge},
      {'question': 'connections', 'step': 12, 'rung': 'one owner, different machines', 'aside': false,
        'n': c.paired_ideal_owner},
      {'question': 'connections', 'step': 13, 'rung': b.rung, 'aside': false, 'n': c.paired_ideal_origin},
      {'question': 'lookups', 'step': 1, 'rung': 'measured', 'aside': false, 'n': c.measured_dns},
      {'question': 'lookups', 'step': 2, 'rung': 'without repeated and unused ones', 'aside': false, 'n': c.paired_dns},
      {'question': 'lookups', 'step': 3, 'rung': 'Chromium with servers as they are', 'aside': true,
        'n': c.paired_chromium_dns},
      {'question': 'lookups', 'step': 4, 'rung': 'Chromium with third-party cookies blocked', 'aside': true,
        'n': c.paired_chromium_cookies_blocked_dns},
      {'question': 'lookups', 'step': 5, 'rung': 'Firefox with servers as they are', 'aside': true,
        'n': c.paired_firefox_dns},
      {'question': 'lookups', 'step': 6, 'rung': 'same address (the paper''s ideal IP)', 'aside': true,
        'n': c.paired_ideal_ip_dns},
      {'question': 'lookups', 'step': 7, 'rung': b.rung, 'aside': false, 'n': c.paired_ideal_origin_dns}
    ], recursive := true)
  FROM page_counts AS c, best AS b
)
SELECT question, step, rung, aside, visit_id, n FROM rungs
