"""Configurations of web servers, and what they make of connections that browsers share between hosts.

Each format has a module that reads it (``nginx_configuration.py`` and others) into listeners, which answer two
questions (``listeners.py``); ``shared_connections.py`` asks them of each pair of hosts.
"""
