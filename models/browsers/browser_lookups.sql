-- The lookups of the pages that are replayed by the browsers' rules.
-- scope: by page
-- kept as: view
-- visit_id: the visit; all columns are those of the table dns_queries, which describes them
SELECT visit_id, host, rtype, answers, asked_ms, took_ms, source, resolver
FROM known_lookups
WHERE visit_id NOT IN (SELECT visit_id FROM oversized_pages)
