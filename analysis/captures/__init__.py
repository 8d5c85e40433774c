"""Captures into the tables of a study."""
