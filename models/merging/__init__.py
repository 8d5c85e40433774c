"""How many connections of a page are saved if hosts at one server merge only where there is evidence for it."""
