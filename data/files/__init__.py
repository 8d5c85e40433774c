"""Files that are written whole or not at all, opened without following links, here or in a bucket."""
