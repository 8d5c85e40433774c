"""The NetLog of a running Chromium, read live."""
