"""Several studies merged into one."""
