"""Prints JSON a hundred thousand lists deep."""

print("[" * 100_000 + "]" * 100_000)
