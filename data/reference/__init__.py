"""Reference data that changes with the world: IP-to-AS tables, AS names, the public suffix list."""
