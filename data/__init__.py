"""The study on disk: schema, manifest, ledger, captures, DuckDB; and the reference data in use."""
