"""Models: SQL queries and pure functions from tables to tables, such as ideal counts, ORIGIN sets and load times."""
