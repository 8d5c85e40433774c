-- Which certificates of batch_certificates cover which hosts of batch_hosts.
-- scope: by page
-- kept as: view
-- host: the host
-- certificate_id: a certificate that covers it
SELECT c.host, c.certificate_id
FROM certificate_coverage AS c
JOIN batch_hosts AS h ON h.host = c.host
JOIN batch_certificates AS b ON b.certificate_id = c.certificate_id
