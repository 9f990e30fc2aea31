"""Its child takes memory until it is killed; it ends as if all were well, and delivers nothing."""

import subprocess
import sys

subprocess.run([sys.executable, "-c", "x = []\nwhile True: x.append(bytearray(2**24))"], check=False)
