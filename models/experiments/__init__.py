"""Experiments: sites drawn for them, and the testbed's scenario of a recorded page."""
