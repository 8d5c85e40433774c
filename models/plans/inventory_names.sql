-- What becomes of each host that the pages of a certificate's sites connect to, as a name to add to that certificate.
-- What a name saves there does not depend on the other names: the best names are those that save most.
-- parameter additions: names added to one certificate at most
-- parameter names: names that the CA takes in one certificate
-- certificate: the certificate that covers the sites; NULL where none of the inventory does
-- host: the host
-- sites: how many sites' pages connect to it
-- pairs: how many rows of the traffic these are
-- connections: new connections a day
-- rank: among the names that may be added to the certificate, by connections; NULL for all others
-- outcome: planned, or why it is left out
WITH
names AS (
  SELECT name, min(row) AS row, count(*) > 1 AS on_several
  FROM (SELECT DISTINCT row, unnest(names) AS name FROM inventory)
  GROUP BY name
),
traffic AS (
  SELECT rtrim(lower(site), '.') AS site, rtrim(lower(host), '.') AS host, connections FROM pairs
),
-- A certificate serves a name exactly, or else by the wildcard above it.
by_certificate AS (
  SELECT
    coalesce(e.row, w.row) AS row,
    coalesce(e.on_several, w.on_several) AS on_several,
    t.host,
    count(DISTINCT t.site) AS sites,
    count(*) AS pairs,
    coalesce(sum(t.connections), 0)::BIGINT AS connections
  FROM traffic AS t
  LEFT JOIN names AS e ON e.name = t.site
  LEFT JOIN names AS w ON w.name = wildcard_above(t.site)
  GROUP BY ALL
),
hosts AS (
  SELECT h.host, is_certificate_name(h.host) AS is_name, coalesce(e.row, w.row) AS row
  FROM (SELECT DISTINCT host FROM by_certificate) AS h
  LEFT JOIN names AS e ON e.name = h.host
  LEFT JOIN names AS w ON w.name = wildcard_above(h.host)
),
judged AS (
  SELECT
    asking.certificate,
    b.host,
    b.sites,
    b.pairs,
    b.connections,
    least($additions, greatest($names - len(asking.names), 0)) AS room,
    CASE
      WHEN b.row IS NULL THEN 'the site is on no certificate of the inventory'
      WHEN b.on_several THEN 'the site is on several certificates'
      WHEN list_contains(asking.names, b.host) THEN 'already covered'
      WHEN list_contains(asking.names, wildcard_above(b.host)) THEN 'already covered'
      WHEN NOT h.is_name THEN 'the host is no name for a certificate'
      WHEN h.row IS NULL THEN 'the host is not served here'
      WHEN asking.key_holder IS DISTINCT FROM 'cdn' THEN 'the customer holds the key'
      WHEN asking.opt_out THEN 'the site has opted out'
      WHEN serving.opt_out THEN 'the host has opted out'
      WHEN NOT coalesce(serving.shared OR serving.owner = asking.owner, false) THEN 'the host is another customer''s'
      WHEN serving.multi_cdn THEN 'other CDNs serve the host too'
      WHEN NOT coalesce(list_contains(serving.caa, asking.ca), serving.caa IS NULL)
        THEN 'the host''s CAA does not permit the CA'
    END AS refusal
  FROM by_certificate AS b
  LEFT JOIN hosts AS h ON h.host = b.host
  LEFT JOIN inventory AS asking ON asking.row = b.row
  LEFT JOIN inventory AS serving ON serving.row = h.row
),
ranked AS (
  SELECT
    *,
    CASE WHEN refusal IS NULL THEN
      row_number() OVER (PARTITION BY certificate, refusal IS NULL ORDER BY connections DESC, host)
    END AS rank
  FROM judged
)
SELECT
  * EXCLUDE (room, refusal),
  CASE
    WHEN refusal IS NOT NULL THEN refusal
    WHEN rank <= room THEN 'planned'
    WHEN room < $additions THEN 'no room: the CA''s limit'
    ELSE 'beyond the asked-for number'
  END AS outcome
FROM ranked
