"""Live servers and names, asked directly: DNS, TLS handshakes, ORIGIN frames on the wire."""
