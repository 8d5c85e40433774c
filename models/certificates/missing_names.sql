-- For each site the colocated names that its certificate does not cover, over all visits of the site, ranked by the connections
-- that the paper's ideal saves. A site has no rows if the names of its certificate are not known, or if coverage is ignored.
-- scope: over the study
-- paper: section 4.3
-- parameter wildcards: whether a certificate's wildcard names cover hosts: cover or ignored
-- parameter coverage: ignored if a server may answer for hosts that its certificate does not cover
-- site: the site
-- name: the missing host
-- certificate_id: the site's certificate
-- rank: by connections saved, then by visits and requests
-- level: evidence that one server can answer for the site's document and this name; the highest, if visits had several document
--   hosts
-- same_owner: the name and one of these document hosts have the same registrable domain
-- connections_saved_paper: connections to the name that the paper's ideal saves, over the site's visits
WITH
colocated_names AS (
  SELECT
    site,
    host AS name,
    max(level) AS level,
    bool_or(same_owner) AS same_owner,
    sum(connections) AS connections_saved_paper,
    sum(visits) AS visits,
    sum(requests) AS requests
  FROM site_server_hosts
  WHERE site IS NOT NULL AND NOT is_ip_literal(host)
  GROUP BY site, host
)
SELECT
  n.site,
  n.name,
  o.certificate_id,
  row_number() OVER (
    PARTITION BY n.site
    ORDER BY n.connections_saved_paper DESC NULLS LAST, n.visits DESC, n.requests DESC, n.name
  ) AS rank,
  n.level,
  n.same_owner,
  n.connections_saved_paper
FROM colocated_names AS n
JOIN site_own_certificates AS o ON o.site = n.site
JOIN certificate_facts AS f ON f.certificate_id = o.certificate_id
WHERE
  f.names_known
  AND getvariable('coverage') <> 'ignored'
  AND NOT EXISTS (
    FROM certificate_coverage AS c
    WHERE
      c.host = n.name
      AND c.certificate_id = o.certificate_id
      AND is_counted_as_covered(c.by_exact_name)
  )
