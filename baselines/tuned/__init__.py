"""The references' work as fast as the same library does it."""
