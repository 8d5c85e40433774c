-- The 95 % interval, as [low, high], of a median, whatever the distribution: of n sorted numbers those of the ranks
-- n / 2 - 1.96 * sqrt(n) / 2, rounded, and as far from the other end. It holds in at least 95 % of samples of independent
-- numbers. NULL for fewer than six numbers: no two of them hold so often. NULL is not counted.
-- numbers: list, in any order
CREATE MACRO median_interval(numbers) AS [
  [s.sorted[s.low], s.sorted[len(s.sorted) + 1 - s.low]]
  FOR s IN [
    {'sorted': list_sort(l), 'low': greatest(round(len(l) / 2 - 0.98 * sqrt(len(l))), 1)::BIGINT}
    FOR l IN ([[x FOR x IN (numbers::DOUBLE[]) IF x IS NOT NULL]])
    IF len(l) >= 6
  ]
][1]
