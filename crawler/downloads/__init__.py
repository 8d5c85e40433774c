"""What is fetched from elsewhere: site lists and reference tables, from public addresses alone."""
