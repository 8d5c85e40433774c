-- What Chromium and Firefox need for all pages, with servers as they are and after a plan: the document's server announces,
-- and its certificate names, every host in its AS that is its own or covered already.
-- browser: chromium or firefox
-- model: today or planned
-- tls_low: connections, at least [connections]
-- tls_high: connections, at most [connections]
-- dns: names looked up, of pages where that is known under both models [lookups]
-- dns_pages: these pages
-- handshake_bytes: certificates sent, of pages where that is known under both models [bytes]
-- round_trips: round trips of these handshakes, likewise
-- handshake_pages: pages where both are known
-- pages: pages
WITH
known AS (
  SELECT
    visit_id,
    browser,
    bool_and(dns IS NOT NULL) AS has_dns,
    bool_and(handshake_bytes IS NOT NULL AND round_trips IS NOT NULL) AS has_handshakes
  FROM browser_predictions
  GROUP BY visit_id, browser
)
SELECT
  p.browser,
  p.model,
  sum(p.tls_low)::BIGINT AS tls_low,
  sum(p.tls_high)::BIGINT AS tls_high,
  (sum(p.dns) FILTER (WHERE k.has_dns))::BIGINT AS dns,
  count(*) FILTER (WHERE k.has_dns) AS dns_pages,
  (sum(p.handshake_bytes) FILTER (WHERE k.has_handshakes))::BIGINT AS handshake_bytes,
  (sum(p.round_trips) FILTER (WHERE k.has_handshakes))::BIGINT AS round_trips,
  count(*) FILTER (WHERE k.has_handshakes) AS handshake_pages,
  count(*) AS pages
FROM browser_predictions AS p
JOIN known AS k USING (visit_id, browser)
GROUP BY p.browser, p.model
ORDER BY p.browser, p.model DESC
