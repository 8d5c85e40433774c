-- Who issued the certificates of TLS connections that carried requests.
-- paper: table 4
-- vantage: the vantage; vantages are not pooled
-- browser: the browser; browsers are not pooled
-- issuer: organisation of the issuer, its common name where there is no organisation; NULL where not recorded
-- certificates: distinct certificates
-- connections: connections that presented one of them, over all sites, each with its average page
-- connections_pct: the same [percent of all]
SELECT
  v.vantage,
  v.browser,
  coalesce(c.issuer_org, c.issuer_cn) AS issuer,
  count(DISTINCT n.certificate_id) AS certificates,
  round(sum(v.weight), 2) AS connections,
  round(100.0 * sum(v.weight) / sum(sum(v.weight)) OVER (PARTITION BY v.vantage, v.browser), 6) AS connections_pct
FROM counted_visits AS v
JOIN connections AS n ON n.visit_id = v.visit_id
LEFT JOIN certificates AS c ON c.certificate_id = n.certificate_id
WHERE v.question = 'certificates' AND coalesce(n.tls, false) AND coalesce(n.used, true)
GROUP BY v.vantage, v.browser, issuer
ORDER BY v.vantage NULLS LAST, v.browser NULLS LAST, connections DESC, issuer NULLS LAST
