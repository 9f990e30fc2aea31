"""Plots as SVG: the same figures give the same bytes, and they are legible on a light and on a dark page."""
