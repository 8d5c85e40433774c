"""One visit, with either browser: a page loaded without a past, and all that is said of it made into a capture."""
