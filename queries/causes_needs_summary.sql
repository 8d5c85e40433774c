-- What recorders left out that would have decided why a connection was not shared: of connections whose first obstacle
-- is not known.
-- need: what was missing: certificate names, DNS answers, credentials, closing times, ...
-- connections: connections for whose cause it is needed [connections]
-- not_decidable_pct: the same [percent of all connections whose first obstacle is not known]
-- redundant_pct: the same [percent of all redundant connections]
-- pages: pages that have one
SELECT
  need,
  count(*) AS connections,
  100.0 * count(*) / (SELECT count(*) FROM redundant_connections WHERE cause = 'NOT_DECIDABLE') AS not_decidable_pct,
  100.0 * count(*) / (SELECT count(*) FROM redundant_connections) AS redundant_pct,
  count(DISTINCT visit_id) AS pages
FROM (SELECT visit_id, unnest(needs) AS need FROM redundant_connections WHERE cause = 'NOT_DECIDABLE')
GROUP BY need
ORDER BY connections DESC, need
