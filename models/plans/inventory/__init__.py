"""Plans for the certificates of a CDN, by its own files: the inventory, its traffic, and the rollout in rings."""
