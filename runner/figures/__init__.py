"""Statistics over records: intervals, equivalence, ratios."""
