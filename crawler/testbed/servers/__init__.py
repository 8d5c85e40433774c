"""The testbed's servers: DNS, TLS with HTTP/1.1, HTTP/2 and HTTP/3, and their certificates."""
