"""A crawl whose visits the workers of a Dask cluster make: an optional extra, ``originset[cluster]``."""
