"""HTTP clients that are no browsers, asked in the testbed which of the rules' names they reach over one connection.

``clients.toml`` lists them, each with a program of a few lines in ``programs``; ``observed.json`` is what the servers
logged of them; docs/http-clients.md is made from it.
"""
