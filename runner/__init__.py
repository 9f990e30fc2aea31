"""The forge-bench runner: reads the matrix, builds images, runs cells, renders tables."""
