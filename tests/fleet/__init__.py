"""A real Slurm fleet on this machine, and the tests of it that take minutes: ``make fleet``."""
