"""The report: one HTML file that holds what it shows, for people who have no study and no network."""
