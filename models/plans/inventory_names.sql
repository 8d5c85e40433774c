-- What becomes of each host that the pages of a unit's sites connect to, as a name to add to the unit's certificates.
-- A unit is one certificate, or those that cover a site together: a client gets any of them, so a name saves
-- connections only where each of them has it. What a name saves there does not depend on the other names: the best names
-- are those that save most.
-- parameter additions: names added to one certificate at most
-- parameter names: names that the CA takes in one certificate
-- parameter name_sets: certificates of how many different sets of names may cover one site
-- unit: the unit that covers the sites; NULL where no certificate of the inventory does
-- host: the host
-- sites: how many sites' pages connect to it
-- pairs: how many rows of the traffic these are
-- connections: new connections a day
-- lacking: the unit's certificates that do not cover the host; NULL unless it is planned
-- rank: among the names that may be added to the unit, by connections; NULL for all others
-- outcome: planned, or why it is left out
WITH
names AS (
  SELECT name, list(row ORDER BY row) AS rows, count(DISTINCT name_set) AS name_sets
  FROM (SELECT DISTINCT row, name_set, unnest(names) AS name FROM inventory)
  GROUP BY name
),
traffic AS (
  SELECT rtrim(lower(site), '.') AS site, rtrim(lower(host), '.') AS host, connections FROM pairs
),
-- A server chooses the certificates that have a name exactly, or else those with the wildcard above it.
by_certificates AS (
  SELECT
    coalesce(e.rows, w.rows) AS rows,
    coalesce(e.name_sets, w.name_sets) AS name_sets,
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
  SELECT h.host, is_certificate_name(h.host) AS is_name, coalesce(e.rows, w.rows) AS rows
  FROM (SELECT DISTINCT host FROM by_certificates) AS h
  LEFT JOIN names AS e ON e.name = h.host
  LEFT JOIN names AS w ON w.name = wildcard_above(h.host)
),
-- Hosts that are excluded themselves, or below a domain that is.
excluded_hosts AS (
  SELECT DISTINCT h.host
  FROM (SELECT host, unnest(generate_series(1, len(string_split(host, '.')))) AS start FROM hosts) AS h
  JOIN exclusions AS e
    ON e.name = array_to_string(string_split(h.host, '.')[h.start:], '.') AND (h.start = 1 OR e.with_subdomains)
),
-- Whose a host is, and what it permits: its shared certificates say so where there are any (customers' certificates may
-- have it by an earlier plan), else all that have it. What one of them forbids is forbidden.
serving_certificates AS (
  SELECT h.host, i.*, bool_or(coalesce(i.shared, false)) OVER (PARTITION BY h.host) AS is_shared
  FROM (SELECT host, unnest(rows) AS row FROM hosts) AS h
  JOIN inventory AS i ON i.row = h.row
),
serving AS (
  SELECT
    host,
    is_shared,
    bool_or(opt_out) AS opt_out,
    bool_or(multi_cdn) AS multi_cdn,
    CASE WHEN count(DISTINCT owner) = 1 AND count(owner) = count(*) THEN min(owner) END AS owner,
    list_reduce(
      coalesce(list(caa) FILTER (caa IS NOT NULL), [NULL::VARCHAR[]]), lambda one, other: list_intersect(one, other)
    ) AS caa
  FROM serving_certificates
  WHERE NOT is_shared OR coalesce(shared, false)
  GROUP BY host, is_shared
),
units AS (
  SELECT
    unit,
    bool_and(key_holder IS NOT DISTINCT FROM 'cdn') AS holds_keys,
    bool_or(opt_out) AS opt_out,
    CASE WHEN count(DISTINCT owner) = 1 AND count(owner) = count(*) THEN min(owner) END AS owner,
    bool_or(ca IS NULL) AS ca_unknown,
    coalesce(list(DISTINCT ca) FILTER (ca IS NOT NULL), []) AS cas,
    least($additions, greatest($names - max(len(names)), 0)) AS room
  FROM inventory
  GROUP BY unit
),
covered AS (
  SELECT
    b.rows,
    b.host,
    min(i.unit) AS unit,
    bool_and(
      coalesce(list_contains(i.names, b.host) OR list_contains(i.names, wildcard_above(b.host)), false)
    ) AS covered
  FROM (SELECT rows, host, unnest(rows) AS row FROM by_certificates WHERE name_sets <= $name_sets) AS b
  JOIN inventory AS i ON i.row = b.row
  GROUP BY b.rows, b.host
),
judged AS (
  SELECT
    c.unit,
    b.host,
    b.sites,
    b.pairs,
    b.connections,
    asking.room,
    CASE
      WHEN b.rows IS NULL THEN 'the site is on no certificate of the inventory'
      WHEN b.name_sets > $name_sets THEN 'the site is on too many certificates'
      WHEN c.covered THEN 'already covered'
      WHEN x.host IS NOT NULL THEN 'the host is excluded, as asked'
      WHEN NOT h.is_name THEN 'the host is no name for a certificate'
      WHEN h.rows IS NULL THEN 'the host is not served here'
      WHEN NOT asking.holds_keys THEN 'the customer holds the key'
      WHEN asking.opt_out THEN 'the site has opted out'
      WHEN serving.opt_out THEN 'the host has opted out'
      WHEN NOT coalesce(serving.is_shared OR serving.owner = asking.owner, false) THEN 'the host is another customer''s'
      WHEN serving.multi_cdn THEN 'other CDNs serve the host too'
      WHEN serving.caa IS NOT NULL AND (asking.ca_unknown OR NOT list_has_all(serving.caa, asking.cas))
        THEN 'the host''s CAA does not permit the CA'
    END AS refusal
  FROM by_certificates AS b
  LEFT JOIN hosts AS h ON h.host = b.host
  LEFT JOIN excluded_hosts AS x ON x.host = b.host
  LEFT JOIN serving ON serving.host = b.host
  LEFT JOIN covered AS c ON c.rows = b.rows AND c.host = b.host
  LEFT JOIN units AS asking ON asking.unit = c.unit
),
ranked AS (
  SELECT
    unit,
    host,
    sum(sites)::BIGINT AS sites,
    sum(pairs)::BIGINT AS pairs,
    sum(connections)::BIGINT AS connections,
    any_value(room) AS room,
    refusal,
    CASE WHEN refusal IS NULL AND sum(connections) > 0 THEN
      row_number() OVER (PARTITION BY unit, refusal IS NULL ORDER BY sum(connections) DESC, host)
    END AS rank
  FROM judged
  GROUP BY unit, host, refusal
),
lacking AS (
  SELECT r.unit, r.host, list(i.certificate ORDER BY i.row) AS certificates
  FROM ranked AS r
  JOIN inventory AS i ON i.unit = r.unit
  WHERE r.rank <= r.room
    AND NOT list_contains(i.names, r.host)
    AND NOT coalesce(list_contains(i.names, wildcard_above(r.host)), false)
  GROUP BY r.unit, r.host
)
SELECT
  r.* EXCLUDE (room, refusal),
  l.certificates AS lacking,
  CASE
    WHEN r.refusal IS NOT NULL THEN r.refusal
    WHEN r.connections = 0 THEN 'it saves no connection'
    WHEN r.rank <= r.room THEN 'planned'
    WHEN r.room < $additions THEN 'no room: the CA''s limit'
    ELSE 'beyond the asked-for number'
  END AS outcome
FROM ranked AS r
LEFT JOIN lacking AS l ON l.unit = r.unit AND l.host = r.host AND r.refusal IS NULL
