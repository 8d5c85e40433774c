-- The number of names in each site's certificate, now and with the additions of the paper's ideal: one row for each site,
-- without its name. Sites are left out if the names of their certificate are not known.
-- paper: figures 4 and 5, table 8
-- original_san_list: names in the certificate [names]
-- updated_san_list: names and additions [names]
-- mapped_san_additions: additions [names]
SELECT
  existing_names AS original_san_list,
  ideal_names AS updated_san_list,
  additions AS mapped_san_additions
FROM site_certificates
WHERE additions IS NOT NULL
ORDER BY ALL
