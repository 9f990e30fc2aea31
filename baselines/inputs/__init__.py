"""The generators of all input files: the same bytes for the same seed. `python3 -m baselines.inputs` writes them."""
