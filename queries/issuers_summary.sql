-- Who issued the certificates of TLS connections that carried requests.
-- paper: table 4
-- issuer: organisation of the issuer, its common name where there is no organisation; NULL where not recorded
-- certificates: distinct certificates seen
-- connections: connections that showed one of them
-- connections_pct: the same [percent of all]
SELECT
  coalesce(c.issuer_org, c.issuer_cn) AS issuer,
  count(DISTINCT n.certificate_id) AS certificates,
  count(*) AS connections,
  100.0 * count(*) / sum(count(*)) OVER () AS connections_pct
FROM connections AS n
LEFT JOIN certificates AS c USING (certificate_id)
WHERE coalesce(n.tls, false) AND coalesce(n.used, true)
GROUP BY issuer
ORDER BY connections DESC, issuer NULLS LAST
