"""What a model is, which reads which, and how all of them are run."""
