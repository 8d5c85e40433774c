"""Certificates: the hosts that they cover, the names that are missing from them, and which names to add."""
