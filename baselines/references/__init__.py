"""The reference of each benchmark, faithful to where it comes from."""
