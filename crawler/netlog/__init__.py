"""Chromium's NetLog, read live: connections, lookups and certificates, as its own network stack tells of them."""
