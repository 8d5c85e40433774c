"""What is kept of URLs, headers and texts, and what is removed before publication."""
