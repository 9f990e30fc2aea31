"""Makes folders in folders, three thousand deep."""

import os

os.chdir("/outputs")
for _ in range(3000):
    os.mkdir("d")
    os.chdir("d")
