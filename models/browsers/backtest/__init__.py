"""The browsers' rules tried on the recordings themselves: what they predict from facts alone, and what was recorded."""
