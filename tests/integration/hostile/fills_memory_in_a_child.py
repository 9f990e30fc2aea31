"""Its child takes memory until it is killed; then it ends with an exit code of its own."""

import subprocess
import sys

child = subprocess.run([sys.executable, "-c", "x = []\nwhile True: x.append(bytearray(2**24))"], check=False)
sys.exit(f"the child ended with {child.returncode}")
