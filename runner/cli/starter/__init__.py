"""The starter matrix that ``forge-bench init`` writes."""
