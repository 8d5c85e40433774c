"""The crawl's ledger: a row for each visit and what became of it."""
