"""Chromium's NetLog: connections, lookups and certificates, as its own network stack tells of them."""
