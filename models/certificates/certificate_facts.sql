-- What the models need of each certificate. Where shards have it with several chains, the first of these in order counts, as in
-- the table certificates.
-- scope: over the study
-- certificate_id: the certificate
-- names_known: its subject alternative names are known
-- chain_bytes: size of the chain that a server with it sends; NULL where the size of one of its certificates is not known [bytes]
WITH
sized AS (
  SELECT certificate_id, min(der_bytes) AS der_bytes, min(chain) AS chain, bool_or(san_count IS NOT NULL) AS names_known
  FROM certificates
  GROUP BY certificate_id
),
links AS (
  SELECT certificate_id, unnest(chain) AS link FROM sized
),
chains AS (
  SELECT l.certificate_id, CASE WHEN bool_and(s.der_bytes IS NOT NULL) THEN sum(s.der_bytes) END AS chain_bytes
  FROM links AS l
  LEFT JOIN sized AS s ON s.certificate_id = l.link
  GROUP BY l.certificate_id
)
SELECT s.certificate_id, s.names_known, c.chain_bytes
FROM sized AS s
LEFT JOIN chains AS c ON c.certificate_id = s.certificate_id
