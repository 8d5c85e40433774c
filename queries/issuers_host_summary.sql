-- The first of the paper's certificate checks: who issued the certificates of each host. A host with several issuers is served
-- from several places, or got a new certificate between visits.
-- paper: section 3, certificate checks; table 4 by host
-- vantage: the vantage; vantages are not pooled
-- browser: the browser; browsers are not pooled
-- host: the host that connections were opened for
-- issuer: organisation of the issuer, its common name where there is no organisation; NULL where not recorded
-- issuers: distinct known issuers of the host
-- certificates: distinct certificates of this issuer
-- connections: connections that presented one of them, over all sites, each with its average page
-- pages: pages with such a connection
WITH
presented_certificates AS (
  SELECT
    v.vantage, v.browser, v.site, v.page, v.weight,
    n.first_host AS host,
    n.certificate_id,
    coalesce(c.issuer_org, c.issuer_cn) AS issuer
  FROM counted_visits AS v
  JOIN connections AS n ON n.visit_id = v.visit_id
  LEFT JOIN certificates AS c ON c.certificate_id = n.certificate_id
  WHERE v.question = 'certificates' AND coalesce(n.tls, false) AND coalesce(n.used, true) AND n.first_host IS NOT NULL
),
issuer_counts AS (
  SELECT vantage, browser, host, count(DISTINCT issuer) AS issuers FROM presented_certificates GROUP BY ALL
)
SELECT
  s.vantage,
  s.browser,
  s.host,
  s.issuer,
  any_value(o.issuers) AS issuers,
  count(DISTINCT s.certificate_id) AS certificates,
  round(sum(s.weight), 2) AS connections,
  count(DISTINCT (s.site, s.page)) AS pages
FROM presented_certificates AS s
JOIN issuer_counts AS o
  ON o.vantage IS NOT DISTINCT FROM s.vantage AND o.browser IS NOT DISTINCT FROM s.browser AND o.host = s.host
GROUP BY s.vantage, s.browser, s.host, s.issuer
ORDER BY s.vantage NULLS LAST, s.browser NULLS LAST, connections DESC, s.host, s.issuer NULLS LAST
