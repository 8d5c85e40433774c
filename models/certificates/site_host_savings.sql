-- What each host's place in its server's certificate and ORIGIN set would save in each browser, over the site's pages; NULL
-- where it is not known of one of them.
-- scope: over the study
-- site: the site
-- server: the document's host
-- host: the host
-- connections_saved_chromium: by addresses alone, as Chromium heeds no ORIGIN frame over HTTP/2
-- connections_saved_chromium_h3: with HTTP/3 in place of HTTP/2, where it does
-- connections_saved_firefox: with ORIGIN frames over HTTP/2
SELECT
  site,
  server,
  host,
  sum_if_all_known(connections_saved_chromium) AS connections_saved_chromium,
  sum_if_all_known(connections_saved_chromium_h3) AS connections_saved_chromium_h3,
  sum_if_all_known(connections_saved_firefox) AS connections_saved_firefox
FROM saved_connections
GROUP BY site, server, host
