"""The one way to Slurm: what a job asks for, the commands, and how a task stands."""
