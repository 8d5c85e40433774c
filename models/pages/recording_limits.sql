-- What keeps a visit from being counted, as far as the visit itself says: the one place where its status, its quality and bot
-- challenges are read.
-- scope: by page
-- visit_id: the visit
-- page: its page
-- not_the_page: why the connections that were seen are not the page's own; NULL if they are
-- not_whole: why the requests that were seen are not those of the whole page; NULL if they are
-- not_fresh: why connections, lookups and times are not those of a fresh browser; NULL if they are
-- has_warm_sockets: a connection was open before its first use
SELECT
  v.visit_id,
  p.page,
  CASE
    WHEN v.challenge THEN 'with a bot challenge in place of the page'
    WHEN v.status = 'failed' THEN 'failed'
    WHEN list_contains(v.quality, 'proxied') THEN 'recorded through a proxy'
  END AS not_the_page,
  CASE
    WHEN list_contains(v.quality, 'truncated') THEN 'in a file that was cut off'
    WHEN v.status = 'partial' OR list_contains(v.quality, 'partial') THEN 'recorded in part'
    WHEN list_contains(v.quality, 'cached_hosts') THEN 'with hosts answered from the cache alone'
  END AS not_whole,
  CASE
    WHEN list_has_any(v.quality, ['warm_start', 'preserved_log']) THEN 'recorded with connections open from before'
    WHEN list_contains(v.quality, 'network_changed') THEN 'recorded while the network changed'
  END AS not_fresh,
  list_contains(v.quality, 'warm_sockets') AS has_warm_sockets
FROM visits AS v
JOIN pages AS p ON p.visit_id = v.visit_id
