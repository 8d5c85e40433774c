-- The different lists of cohosted_groups.
-- scope: by page
-- hosts: hosts that some page asked for and that have something in common there, in alphabetical order
SELECT DISTINCT hosts FROM cohosted_groups
