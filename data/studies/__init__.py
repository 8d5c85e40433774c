"""The study on disk: its folder, manifest, shards and database."""
