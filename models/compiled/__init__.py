"""Loops over each request or use, compiled: what whole columns at a time would do in many times as many steps."""
