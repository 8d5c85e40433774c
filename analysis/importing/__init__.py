"""Foreign HARs into a study: files found, read, sanitised, written as shards."""
