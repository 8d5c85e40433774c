"""A HAR's text decoded into typed structs, within bounds."""
