"""What changes a site's owner can make, and what they save."""
