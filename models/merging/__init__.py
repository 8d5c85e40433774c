"""How many connections of a page go where evidence connects what is at one server."""
