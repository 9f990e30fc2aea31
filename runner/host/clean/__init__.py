"""Find and remove exactly the things that this project made, and report what stays."""
