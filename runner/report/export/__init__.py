"""All records of a store as one table."""
