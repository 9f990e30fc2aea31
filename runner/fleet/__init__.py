"""Plans whose launches run as jobs of a Slurm fleet (docs/decisions/slurm.md)."""
