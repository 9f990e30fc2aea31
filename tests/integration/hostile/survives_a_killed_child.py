"""Its child takes memory until it is killed; the work is done all the same, and done right."""

import runpy
import subprocess
import sys

subprocess.run([sys.executable, "-c", "x = []\nwhile True: x.append(bytearray(2**24))"], check=False)
runpy.run_module("baselines.references.gae", run_name="__main__")
