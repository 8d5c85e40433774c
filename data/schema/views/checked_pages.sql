-- The back-test by page: what the rules of the browser that was recorded predict, not knowing which requests shared a connection,
-- and what it used, over all protocols. Errors of one protocol can make up for those of another; predictions_check has each.
-- visit_id: the visit
-- browser: chromium or firefox: whose build was recorded, and whose rules are applied
-- tls_low: predicted, at least [connections]
-- tls_likely: predicted, most likely [connections]
-- tls_high: predicted, at most [connections]
-- recorded: those that carried requests in the recording [connections]
-- within: recorded is neither below tls_low nor above tls_high
-- error: recorded above tls_high, or, negative, below tls_low; 0 within [connections]
-- error_cause: of the protocol with the greatest error; NULL within
WITH summed AS (
  SELECT
    visit_id, browser,
    sum(tls_low)::INTEGER AS tls_low,
    sum(tls_likely)::INTEGER AS tls_likely,
    sum(tls_high)::INTEGER AS tls_high,
    sum(recorded)::INTEGER AS recorded,
    arg_max(error_cause, (abs(error), protocol)) AS error_cause
  FROM predictions_check
  GROUP BY visit_id, browser
)
SELECT
  visit_id, browser, tls_low, tls_likely, tls_high, recorded,
  recorded BETWEEN tls_low AND tls_high AS within,
  recorded - least(greatest(recorded, tls_low), tls_high) AS error,
  CASE WHEN recorded NOT BETWEEN tls_low AND tls_high THEN error_cause END AS error_cause
FROM summed
