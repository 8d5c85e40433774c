"""Captures and foreign HARs into clean tables: requests, connections, DNS, certificates, names, ASNs."""
