"""Real web servers, and what each does with a request for another host on an open connection.

``texts/SITUATION.md`` has a configuration of a few lines, and below it what the server answered. ``make servers``
starts each of them in a network namespace and writes that section again; docs/servers.md is made from these files.
"""
