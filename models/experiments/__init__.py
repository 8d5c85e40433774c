"""Experiments with a control group, and recorded pages as scenarios of the testbed."""
