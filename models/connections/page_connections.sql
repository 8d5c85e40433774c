-- The connections of the batch, with the page that each belongs to.
-- scope: by page
-- kept as: view
-- page: the page
-- connection_id: the connection; the other columns are those of the table connections
SELECT p.page, c.*
FROM connections AS c
JOIN pages AS p ON p.visit_id = c.visit_id
