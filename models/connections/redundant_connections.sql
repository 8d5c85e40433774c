-- The TLS connections with requests that an earlier connection of the page could have served, and why the browser opened them.
-- scope: by page
-- visit_id: the visit; all columns are those of the table redundant_connections, which describes them
WITH live_names AS (
  SELECT DISTINCT visit_id, host FROM known_lookups WHERE source = 'live'
)
SELECT
  r.* REPLACE (
    -- Live answers are used only for connections to two different hosts.
    NOT r.same_host AND (coalesce(c.certificate_is_live, false) OR n.host IS NOT NULL) AS based_on_live
  )
FROM redundant_connection_causes AS r
LEFT JOIN known_connections AS c ON c.visit_id = r.visit_id AND c.connection_id = r.reusable_connection_id
LEFT JOIN live_names AS n ON n.visit_id = r.visit_id AND n.host = r.host
