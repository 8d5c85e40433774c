"""Certificates: what they cover, what they lack, and which names to add."""
