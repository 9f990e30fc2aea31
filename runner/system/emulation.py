"""Which emulator runs a foreign architecture here."""

import subprocess
from functools import cache
from pathlib import Path

# Where the kernel lists the emulators of foreign programs.
BINFMT = Path("/proc/sys/fs/binfmt_misc")


def emulator_name(architecture: str) -> str:
    """QEMU's name for an architecture that Docker calls amd64 or arm64."""
    return {"amd64": "qemu-x86_64", "arm64": "qemu-aarch64"}[architecture]


@cache
def emulator_of(architecture: str) -> str | None:
    """The emulator's name and version, as "qemu-aarch64 10.0.2".

    The version is left out where it is unknown; None where the name is unknown too.
    """
    name = emulator_name(architecture)
    try:
        text = (BINFMT / name).read_text(encoding="utf-8")
    except OSError:
        return None
    interpreter = next(
        (line.partition(" ")[2] for line in text.splitlines() if line.startswith("interpreter ")), ""
    )
    # The registered path may be a link, whose name switches on another way of passing arguments.
    program = Path(interpreter).resolve()
    if not program.is_file():
        return name
    result = subprocess.run([str(program), "--version"], capture_output=True, text=True, check=False)
    words = result.stdout.split()
    return f"{name} {words[words.index('version') + 1]}" if "version" in words[:-1] else name
