"""The forge-bench runner: reads the matrix, builds images, runs cells, renders tables."""

__version__ = "0.1.0"
