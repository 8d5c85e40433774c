-- The connections and lookups that Chromium and Firefox need, with servers as they are and after a plan: the document's server
-- announces, and its certificate covers, every host in its AS that has its registrable domain or is covered already. Over all
-- sites, each with its average page.
-- vantage: the vantage; vantages are not pooled
-- recorded_by: the browser that was recorded; browsers are not pooled
-- browser: the browser whose rules are applied: chromium or firefox
-- model: today (servers as they are) or planned
-- tls_low: connections, at least [connections]
-- tls_high: connections, at most [connections]
-- dns: names looked up, of pages where that is known under both models [lookups]
-- dns_pages: pages that dns is of
-- handshake_bytes: size of the certificates sent, of pages where that is known under both models [bytes]
-- round_trips: round trips of these handshakes, of the same pages
-- handshake_pages: pages that handshake_bytes and round_trips are of
-- sites: sites counted
-- pages: pages counted
WITH
comparable_predictions AS (
  SELECT
    visit_id,
    browser,
    bool_and(dns IS NOT NULL) AS has_dns,
    bool_and(handshake_bytes IS NOT NULL AND round_trips IS NOT NULL) AS has_handshakes
  FROM browser_predictions
  WHERE model IN ('today', 'planned')
  GROUP BY visit_id, browser
)
SELECT
  v.vantage,
  v.browser AS recorded_by,
  p.browser,
  p.model,
  round(sum(v.weight * p.tls_low), 2) AS tls_low,
  round(sum(v.weight * p.tls_high), 2) AS tls_high,
  round(sum(v.weight * p.dns) FILTER (k.has_dns), 2) AS dns,
  count(DISTINCT (v.site, v.page)) FILTER (k.has_dns) AS dns_pages,
  round(sum(v.weight * p.handshake_bytes) FILTER (k.has_handshakes), 2) AS handshake_bytes,
  round(sum(v.weight * p.round_trips) FILTER (k.has_handshakes), 2) AS round_trips,
  count(DISTINCT (v.site, v.page)) FILTER (k.has_handshakes) AS handshake_pages,
  any_value(b.sites) AS sites,
  any_value(b.pages) AS pages
FROM counted_visits AS v
JOIN browser_predictions AS p ON p.visit_id = v.visit_id
JOIN comparable_predictions AS k ON k.visit_id = p.visit_id AND k.browser = p.browser
JOIN basis_summary AS b
  ON b.question = v.question AND b.vantage IS NOT DISTINCT FROM v.vantage AND b.browser IS NOT DISTINCT FROM v.browser
WHERE v.question = 'browsers' AND p.model IN ('today', 'planned')
GROUP BY v.vantage, v.browser, p.browser, p.model
ORDER BY v.vantage NULLS LAST, v.browser NULLS LAST, p.browser, p.model DESC
