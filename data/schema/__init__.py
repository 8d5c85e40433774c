"""The schema of a study: tables, columns, views and macros, each defined once."""
