"""A small internet in one network namespace: addresses, DNS, a private CA, TLS servers, and their logs."""
