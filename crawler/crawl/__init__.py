"""The crawl of a list: which visits are left, who makes them, and how polite they are."""
