"""Cells, their content keys, and the plan of a run."""
