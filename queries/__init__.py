"""Everything shown: one metric per .sql file, figures."""
