"""Which rules the browser of a recording follows, by its version."""
