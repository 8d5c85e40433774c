"""The browsers' rules tried on the recordings themselves: what they predict, and what was recorded."""
