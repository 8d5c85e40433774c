-- The second of the paper's certificate checks, the presence of subject alternative names, with what else can be wrong
-- with the certificate of a connection. A check counts only connections of which enough is known to decide it.
-- paper: section 3, certificate checks
-- check_name: what was looked for; a common name covers nothing by RFC 9525, however well it matches
-- connections: connections where it can be decided
-- found: of these, connections where it is so
-- found_pct: the same [percent of connections]
-- certificates: distinct certificates where it is so
WITH
shown AS (
  SELECT
    n.visit_id,
    n.connection_id,
    c.*,
    n.first_host AS host,
    '*' || substr(n.first_host, instr(n.first_host, '.')) AS wildcard,
    v.started_at
  FROM connections AS n
  JOIN certificates AS c USING (certificate_id)
  JOIN visits AS v USING (visit_id)
  WHERE coalesce(n.tls, false) AND coalesce(n.used, true)
),
covering AS (
  SELECT DISTINCT s.visit_id, s.connection_id
  FROM shown AS s
  JOIN certificate_names AS m ON m.certificate_id = s.certificate_id AND m.name IN (s.host, s.wildcard)
),
judged AS (
  SELECT s.*, g.visit_id IS NOT NULL AS covered, lower(s.subject_cn) IN (s.host, s.wildcard) AS common_name_matches
  FROM shown AS s
  LEFT JOIN covering AS g USING (visit_id, connection_id)
),
checks AS (
  SELECT 1 AS step, 'no subject alternative name' AS check_name, certificate_id, san_count = 0 AS found FROM judged
  UNION ALL
  SELECT 2, 'host not covered', certificate_id, CASE WHEN san_count IS NOT NULL AND host IS NOT NULL THEN NOT covered END
  FROM judged
  UNION ALL
  SELECT
    3,
    'host matches the common name alone',
    certificate_id,
    CASE WHEN san_count IS NOT NULL AND host IS NOT NULL THEN NOT covered AND coalesce(common_name_matches, false) END
  FROM judged
  UNION ALL
  SELECT 4, 'expired at the visit', certificate_id, started_at > not_after FROM judged
  UNION ALL
  SELECT 5, 'not yet valid at the visit', certificate_id, started_at < not_before FROM judged
  UNION ALL
  SELECT 6, 'self-signed', certificate_id, self_signed FROM judged
  UNION ALL
  SELECT 7, 'no certificate transparency timestamp in it', certificate_id, sct_count = 0 FROM judged
  UNION ALL
  SELECT 8, 'chain not in order as sent', certificate_id, CASE WHEN chain IS NOT NULL THEN chain_problem IS NOT NULL END
  FROM judged
  UNION ALL
  SELECT 9, 'not readable in full', certificate_id, problem IS NOT NULL FROM judged
)
SELECT
  check_name,
  count(found) AS connections,
  count(*) FILTER (found) AS found,
  100.0 * count(*) FILTER (found) / nullif(count(found), 0) AS found_pct,
  count(DISTINCT certificate_id) FILTER (found) AS certificates
FROM checks
GROUP BY step, check_name
ORDER BY step
