"""The report: one self-contained HTML file, for readers who have neither the study nor a network."""
