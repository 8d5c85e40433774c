"""Certificates into rows: their names, and whether a chain is in order."""
