-- How many redundant TLS connections each cause stands against, alone or with others: without a cause, those remain that
-- have another.
-- cause: the code, as in redundant_connections
-- connections: redundant connections to which it applies [connections]
-- alone: those of them to which no other applies [connections]
-- pages: pages that have one
SELECT
  cause,
  count(*) AS connections,
  count(*) FILTER (WHERE others = 0) AS alone,
  count(DISTINCT visit_id) AS pages
FROM (SELECT visit_id, unnest(causes) AS cause, len(causes) - 1 AS others FROM redundant_connections)
GROUP BY cause
ORDER BY connections DESC, cause
