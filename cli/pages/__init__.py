"""Pages of docs/ that are made from the commands and from what columns may hold."""
