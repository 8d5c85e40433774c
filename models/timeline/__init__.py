"""Page load times if connections had been coalesced."""
