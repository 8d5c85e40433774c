-- What becomes of each host that a server of the site could announce, and whether browsers coalesce it today: the most
-- visited server first, of its hosts the most requested.
-- parameter excluded: hosts that are not to be announced
-- server: the server; what is not described here is a column of the table origin_sets
-- own_protocols: the protocols that the server was seen over, in the order of the alphabet
-- shares_address: the host was seen at an address of the server
-- coalesces_today: browsers can use the server's connection for it without ORIGIN; NULL where that is not known
-- reason: why it is not announced, as a plan has it; NULL where it is
-- detail: the same in words for a person
WITH
seen AS (
  SELECT
    host,
    coalesce(bool_or(scheme IN ('https', 'wss')), false) AS over_tls,
    list(DISTINCT server_ip) FILTER (server_ip IS NOT NULL) AS addresses,
    list(DISTINCT asn) FILTER (asn IS NOT NULL) AS asns,
    list(DISTINCT protocol ORDER BY protocol) FILTER (protocol IS NOT NULL) AS protocols
  FROM requests
  GROUP BY host
),
hosts AS (
  SELECT
    m.*,
    s.over_tls,
    s.asns,
    s.protocols,
    m.host = m.server AS is_server,
    o.visits AS server_visits,
    own.protocols AS own_protocols,
    coalesce(list_has_any(s.addresses, own.addresses), false) AS shares_address,
    m.port IS NOT DISTINCT FROM o.port AS at_own_port,
    list_min(list_filter(s.asns, lambda a: a <> m.asn AND NOT coalesce(list_contains(own.asns, a), false))) AS other_asn
  FROM origin_sets AS m
  LEFT JOIN origin_sets AS o ON o.server = m.server AND o.host = m.server
  LEFT JOIN seen AS s ON s.host = m.host
  LEFT JOIN seen AS own ON own.host = m.server
),
coalescing AS (
  SELECT
    *,
    CASE
      WHEN is_server OR level = 5 THEN true
      WHEN shares_address AND at_own_port AND misdirected IS DISTINCT FROM true THEN covered_by_certificate
      ELSE false
    END AS coalesces_today
  FROM hosts
),
refused AS (
  SELECT
    *,
    CASE
      WHEN why_no_origin(host, port) IS NOT NULL THEN ('not_an_origin', why_no_origin(host, port))
      WHEN is_server THEN NULL
      WHEN list_contains($excluded, host) THEN ('excluded', 'excluded, as asked')
      WHEN misdirected THEN ('misdirected', 'a server answered 421 for it')
      WHEN NOT over_tls THEN ('not_https', 'it was asked for without TLS only')
      WHEN covered_by_certificate IS NULL
        THEN ('coverage_unknown', 'the names of the server''s certificate are not known')
      WHEN NOT covered_by_certificate THEN ('not_covered', 'the server''s certificate does not cover it')
      WHEN NOT at_own_port THEN ('other_port', 'it is reached through another port than the server')
      -- What coalesces today is announced all the same, or browsers that honour ORIGIN would stop sharing.
      WHEN coalesces_today THEN NULL
      -- A name in the certificate says that its owner may be answered for, not that this machine can.
      WHEN coalesce(level, 0) < 3
        THEN ('no_evidence', 'nothing that was seen says that the server answers for it: no edge or address in common')
      WHEN NOT list_has_any(protocols, ['h2', 'h3'])
        THEN ('no_http2', 'it was seen over HTTP/1 only: another kind of server')
      -- Not worth bytes on every connection. Ten visits are needed to say so.
      WHEN seen_share < 0.1
        THEN ('rare', 'it was seen in ' || visits || if(visits = 1, ' visit', ' visits') || ' only')
      WHEN list_contains(asns, asn) AND other_asn IS NOT NULL
        THEN ('elsewhere', 'in some visits it was elsewhere (AS' || other_asn || '), as where it is depends on the vantage')
    END AS refusal
  FROM coalescing
)
SELECT
  * EXCLUDE (refusal, over_tls, asns, protocols, is_server, server_visits, at_own_port, other_asn),
  refusal[1] AS reason,
  refusal[2] AS detail
FROM refused
ORDER BY server_visits DESC, server, requests DESC NULLS LAST, host
