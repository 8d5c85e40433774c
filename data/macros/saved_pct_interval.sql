-- The 95 % interval, as [low, high], of the percentage saved: 100 * (sum(measured) - sum(remaining)) / sum(measured). It is
-- the linearised interval of a ratio whose clusters are sites (Cochran, Sampling Techniques, 3rd edition, 6.3 and 6.4), as
-- pages of one site are much alike. No more than 100 % is saved. NULL for fewer than two sites, as nothing is known of how
-- sites differ then, and where nothing was measured.
-- measured: list of one total a site
-- remaining: list of what remains of each, in the same order
CREATE MACRO saved_pct_interval(measured, remaining) AS CASE WHEN len(measured) >= 2 AND list_sum(measured) > 0 THEN [
  [100 * (1 - r.ratio) - 196 * r.error, least(100 * (1 - r.ratio) + 196 * r.error, 100)]
  FOR r IN [
    {
      'ratio': s.ratio,
      'error': sqrt(
        s.sites / (s.sites - 1)
        * list_sum([
          power(site[2] - site[3] * site[1], 2)
          FOR site IN list_zip(s.measured, s.remaining, list_resize([]::DOUBLE[], s.sites, s.ratio))
        ])
      ) / list_sum(s.measured)
    }
    FOR s IN [
      {
        'measured': measured::DOUBLE[],
        'remaining': remaining::DOUBLE[],
        'sites': len(measured),
        'ratio': list_sum(remaining::DOUBLE[]) / list_sum(measured::DOUBLE[])
      }
    ]
  ]
][1] END
