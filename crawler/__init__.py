"""Everything on the network: a visit, the crawl of a list, the testbed."""
