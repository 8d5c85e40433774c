"""Pure functions over tables: ideal counts, ORIGIN sets, certificate additions, the timeline, plans."""
