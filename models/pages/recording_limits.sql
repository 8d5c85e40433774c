-- The reasons in a visit's own row why it cannot be counted. Only this model reads a visit's status, quality and bot challenge.
-- scope: by page
-- visit_id: the visit
-- page: its page
-- not_the_page: why the recorded connections are not those of the page; NULL if they are
-- not_whole: why the recorded requests are not those of the whole page; NULL if they are
-- not_fresh: why connections, lookups and times are not those of a fresh browser; NULL if they are
-- has_warm_sockets: a connection was already open when the page first used it
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
    WHEN list_contains(v.quality, 'unread_events') THEN 'with events of the browser''s log that cannot be read'
    WHEN list_contains(v.quality, 'cached_hosts') THEN 'with hosts answered from the cache alone'
  END AS not_whole,
  CASE
    WHEN list_has_any(v.quality, ['warm_start', 'preserved_log']) THEN 'recorded with connections that were open before the page'
    WHEN list_contains(v.quality, 'network_changed') THEN 'recorded while the network changed'
  END AS not_fresh,
  list_contains(v.quality, 'warm_sockets') AS has_warm_sockets
FROM visits AS v
JOIN pages AS p ON p.visit_id = v.visit_id
