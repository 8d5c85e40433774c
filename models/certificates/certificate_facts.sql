-- What the models need to know of each certificate. If shards have several chains for one certificate, the first in sort order
-- is used, as in the table certificates.
-- scope: over the study
-- certificate_id: the certificate
-- names_known: its subject alternative names are known
-- chain_bytes: size of the chain that its server sends; NULL if the size of one certificate of the chain is not known [bytes]
WITH
distinct_certificates AS (
  SELECT certificate_id, min(der_bytes) AS der_bytes, min(chain) AS chain, bool_or(san_count IS NOT NULL) AS names_known
  FROM certificates
  GROUP BY certificate_id
),
chain_links AS (
  SELECT certificate_id, unnest(chain) AS link FROM distinct_certificates
),
chain_sizes AS (
  SELECT l.certificate_id, CASE WHEN bool_and(s.der_bytes IS NOT NULL) THEN sum(s.der_bytes) END AS chain_bytes
  FROM chain_links AS l
  LEFT JOIN distinct_certificates AS s ON s.certificate_id = l.link
  GROUP BY l.certificate_id
)
SELECT s.certificate_id, s.names_known, c.chain_bytes
FROM distinct_certificates AS s
LEFT JOIN chain_sizes AS c ON c.certificate_id = s.certificate_id
