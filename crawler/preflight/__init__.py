"""A live server looked at before and after ORIGIN frames are switched on: what it promises, and whether it keeps it."""
