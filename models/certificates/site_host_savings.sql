-- The connections that each browser would save if a host were in the certificate and the ORIGIN set of the document's server,
-- over the site's pages; NULL if the number is not known for one of them.
-- scope: over the study
-- site: the site
-- server: the document's host
-- host: the host
-- connections_saved_chromium: by Chromium over HTTP/2, where it ignores ORIGIN frames and coalesces by IP addresses alone
-- connections_saved_chromium_h3: by Chromium over HTTP/3, where it obeys ORIGIN frames
-- connections_saved_firefox: by Firefox over HTTP/2, where it obeys ORIGIN frames
SELECT
  site,
  server,
  host,
  sum_if_all_known(connections_saved_chromium) AS connections_saved_chromium,
  sum_if_all_known(connections_saved_chromium_h3) AS connections_saved_chromium_h3,
  sum_if_all_known(connections_saved_firefox) AS connections_saved_firefox
FROM saved_connections
GROUP BY site, server, host
