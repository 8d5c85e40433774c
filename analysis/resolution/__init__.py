"""Each distinct host and address of a study: registrable domain, AS, organisation, edge."""
