"""Finding and removing exactly what this project made, and saying what stays."""
