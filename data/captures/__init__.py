"""Captures: one file a visit, in a folder or in S3-compatible storage."""
