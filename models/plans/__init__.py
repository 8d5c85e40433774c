"""Plans: ORIGIN sets and certificate names for a site, a provider or an inventory; what they cost and save."""
