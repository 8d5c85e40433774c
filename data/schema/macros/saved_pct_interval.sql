-- The 95 % confidence interval, as [low, high], of the percentage saved: 100 * (sum(measured) - sum(remaining)) /
-- sum(measured). It is the linearised interval of a ratio whose clusters are sites (Cochran, Sampling Techniques, 3rd
-- edition, 6.3 and 6.4), because pages of one site are similar. Its upper end is at most 100 %. NULL for fewer than two
-- sites, which do not show how sites differ, and if the sum of measured is 0.
-- measured: list of one total for each site
-- remaining: list of what remains of each total, in the same order
CREATE MACRO saved_pct_interval(measured, remaining) AS CASE WHEN len(measured) >= 2 AND list_sum(measured) > 0 THEN [
  [100 * (1 - its_ratio.ratio) - 196 * its_ratio.error, least(100 * (1 - its_ratio.ratio) + 196 * its_ratio.error, 100)]
  FOR its_ratio IN [
    {
      'ratio': its_sums.ratio,
      'error': sqrt(
        its_sums.sites / (its_sums.sites - 1)
        * list_sum([
          power(its_site[2] - its_site[3] * its_site[1], 2)
          FOR its_site IN list_zip(
            its_sums.measured, its_sums.remaining, list_resize([]::DOUBLE[], its_sums.sites, its_sums.ratio)
          )
        ])
      ) / list_sum(its_sums.measured)
    }
    FOR its_sums IN [
      {
        'measured': measured::DOUBLE[],
        'remaining': remaining::DOUBLE[],
        'sites': len(measured),
        'ratio': list_sum(remaining::DOUBLE[]) / list_sum(measured::DOUBLE[])
      }
    ]
  ]
][1] END
