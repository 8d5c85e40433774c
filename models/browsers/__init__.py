"""What browsers do with a page: their rules replayed, why connections were not shared, what an observer sees."""
