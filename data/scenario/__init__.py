"""A testbed's scenario as it is written: TOML tables of hosts, certificates and sites, made by models too."""
