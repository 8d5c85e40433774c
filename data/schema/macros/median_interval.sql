-- The 95 % confidence interval of a median, as [low, high], for any distribution: of n sorted numbers the one with the rank
-- n / 2 - 1.96 * sqrt(n) / 2, rounded, and the one as far from the other end. It contains the median in at least 95 % of
-- samples of independent numbers. NULL for fewer than six numbers, because no interval between two of them does. NULLs are
-- ignored.
-- numbers: list, in any order
CREATE MACRO median_interval(numbers) AS [
  [its_rank.sorted[its_rank.low], its_rank.sorted[len(its_rank.sorted) + 1 - its_rank.low]]
  FOR its_rank IN [
    {
      'sorted': list_sort(its_numbers),
      'low': greatest(round(len(its_numbers) / 2 - 0.98 * sqrt(len(its_numbers))), 1)::BIGINT
    }
    FOR its_numbers IN ([[its_number FOR its_number IN (numbers::DOUBLE[]) IF its_number IS NOT NULL]])
    IF len(its_numbers) >= 6
  ]
][1]
