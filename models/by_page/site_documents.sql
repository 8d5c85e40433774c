-- The documents of the visits that tell of their sites' certificates.
-- visit_id: the visit
-- page: its page
-- site: the visit's site
-- vantage: the visit's vantage
-- server: the document's host; the other columns are those of page_documents
SELECT d.*, v.site, v.vantage
FROM page_documents AS d
JOIN visits AS v ON v.visit_id = d.visit_id
WHERE v.status IS DISTINCT FROM 'failed'
