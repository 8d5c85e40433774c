"""Comparison of two studies, or of the vantages or rounds of one."""
