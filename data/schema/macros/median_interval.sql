-- The 95 % interval, as [low, high], of a median, whatever the distribution: of n sorted numbers those of the ranks
-- n / 2 - 1.96 * sqrt(n) / 2, rounded, and as far from the other end. It holds in at least 95 % of samples of independent
-- numbers. NULL for fewer than six numbers: no two of them hold so often. NULL is not counted.
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
