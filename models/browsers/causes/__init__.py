"""Why redundant connections were opened, and who can change it."""
