"""Ends well without a word."""
