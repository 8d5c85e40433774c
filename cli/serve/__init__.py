"""What ``originset serve`` shows in a browser on this machine."""
