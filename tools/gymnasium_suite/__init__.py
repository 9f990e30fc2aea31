"""Gymnasium's own test suite, run on our environments."""
