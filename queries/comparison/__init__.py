"""What differs between two studies, or between the vantages or rounds of one."""
