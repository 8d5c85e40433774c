-- Faults of the certificates of connections. The first is the second of the paper's certificate checks, whether there are
-- subject alternative names. A check counts only connections for which it can be decided.
-- paper: section 3, certificate checks
-- vantage: the vantage; vantages are not pooled
-- browser: the browser; browsers are not pooled
-- check_name: the fault; by RFC 9525 a common name covers no host, even if it matches
-- connections: connections for which it can be decided, over all sites, each with its average page
-- found: of these, connections with the fault
-- found_pct: the same [percent of connections]
-- certificates: distinct certificates with the fault
WITH
presented_certificates AS (
  SELECT
    p.vantage,
    p.browser,
    p.weight,
    n.visit_id,
    n.connection_id,
    c.*,
    n.first_host AS host,
    '*' || substr(n.first_host, instr(n.first_host, '.')) AS wildcard,
    v.started_at
  FROM counted_visits AS p
  JOIN visits AS v ON v.visit_id = p.visit_id
  JOIN connections AS n ON n.visit_id = p.visit_id
  JOIN certificates AS c ON c.certificate_id = n.certificate_id
  WHERE p.question = 'certificates' AND coalesce(n.tls, false) AND coalesce(n.used, true)
),
covering_certificates AS (
  SELECT DISTINCT s.visit_id, s.connection_id
  FROM presented_certificates AS s
  JOIN certificate_names AS m ON m.certificate_id = s.certificate_id AND m.name IN (s.host, s.wildcard)
),
check_results AS (
  SELECT
    s.*,
    g.visit_id IS NOT NULL AS covered,
    lower(s.subject_cn) IN (s.host, s.wildcard) AS common_name_matches,
    s.san_count IS NOT NULL AND s.host IS NOT NULL AS coverage_known
  FROM presented_certificates AS s
  LEFT JOIN covering_certificates AS g USING (visit_id, connection_id)
),
checks AS (
  SELECT
    vantage, browser, weight, certificate_id,
    unnest([
      {'step': 1, 'check_name': 'no subject alternative name', 'found': san_count = 0},
      {'step': 2, 'check_name': 'host not covered', 'found': CASE WHEN coverage_known THEN NOT covered END},
      {'step': 3, 'check_name': 'host matches the common name alone',
        'found': CASE WHEN coverage_known THEN NOT covered AND coalesce(common_name_matches, false) END},
      {'step': 4, 'check_name': 'expired at the visit', 'found': started_at > not_after},
      {'step': 5, 'check_name': 'not yet valid at the visit', 'found': started_at < not_before},
      {'step': 6, 'check_name': 'self-signed', 'found': self_signed},
      {'step': 7, 'check_name': 'no certificate transparency timestamp in it', 'found': sct_count = 0},
      {'step': 8, 'check_name': 'chain not in order as sent',
        'found': CASE WHEN chain IS NOT NULL THEN chain_problem IS NOT NULL END},
      {'step': 9, 'check_name': 'not readable in full', 'found': problem IS NOT NULL}
    ], recursive := true)
  FROM check_results
)
SELECT
  vantage,
  browser,
  check_name,
  round(coalesce(sum(weight) FILTER (found IS NOT NULL), 0), 2) AS connections,
  round(coalesce(sum(weight) FILTER (found), 0), 2) AS found,
  round(100.0 * coalesce(sum(weight) FILTER (found), 0) / sum(weight) FILTER (found IS NOT NULL), 6) AS found_pct,
  count(DISTINCT certificate_id) FILTER (found) AS certificates
FROM checks
GROUP BY vantage, browser, step, check_name
ORDER BY vantage NULLS LAST, browser NULLS LAST, step
