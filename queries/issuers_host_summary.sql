-- The first of the paper's certificate checks: who issued the certificates of each host. A host with several issuers is
-- served from several places, or was reissued in between.
-- paper: section 3, certificate checks; table 4 by host
-- host: the host that connections were opened for
-- issuer: organisation of the issuer, its common name where there is no organisation; NULL where not recorded
-- issuers: distinct issuers of the host that are known
-- certificates: distinct certificates of this issuer
-- connections: connections that showed one of them
-- visits: visits with such a connection
WITH
shown AS (
  SELECT n.visit_id, n.first_host, n.certificate_id, coalesce(c.issuer_org, c.issuer_cn) AS issuer
  FROM connections AS n
  LEFT JOIN certificates AS c USING (certificate_id)
  WHERE coalesce(n.tls, false) AND coalesce(n.used, true) AND n.first_host IS NOT NULL
),
of_host AS (
  SELECT first_host, count(DISTINCT issuer) AS issuers FROM shown GROUP BY first_host
)
SELECT
  s.first_host AS host,
  s.issuer,
  any_value(o.issuers) AS issuers,
  count(DISTINCT s.certificate_id) AS certificates,
  count(*) AS connections,
  count(DISTINCT s.visit_id) AS visits
FROM shown AS s
JOIN of_host AS o USING (first_host)
GROUP BY s.first_host, s.issuer
ORDER BY connections DESC, host, s.issuer NULLS LAST
