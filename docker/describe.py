"""Prints image.json: what this image is, what it was made from, and the packages that its pins rest on."""

import json
import os
import subprocess
import sys
from pathlib import Path

PACKAGES = ("libc6", "libopenblas0-pthread", "python3", "python3-numpy", "python3-torch")


def package_versions(status: str) -> dict[str, str]:
    """The versions of ``PACKAGES`` in a dpkg status file."""
    found: dict[str, str] = {}
    for paragraph in status.split("\n\n"):
        fields = dict(
            line.split(": ", 1) for line in paragraph.splitlines() if ": " in line and line[0] != " "
        )
        if fields.get("Package") in PACKAGES:
            found[fields["Package"]] = fields["Version"]
    missing = set(PACKAGES) - found.keys()
    if missing:
        raise SystemExit(f"forge-bench: the root filesystem lacks {', '.join(sorted(missing))}")
    return found


def main(inputs: Path) -> None:
    """Print the description of what lies below ``inputs``; the build's arguments arrive as environment variables."""
    # Suites name it differently, and the one that is not there makes dpkg-query end with 1.
    known = subprocess.run(
        ["dpkg-query", "--show", "--showformat=${db:Status-Abbrev} ${Version}\n", "rustc", "rustc-web"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    (rustc,) = (line.split()[1] for line in known.splitlines() if line.startswith("ii"))
    status = inputs / "status"
    # An image of one static binary has no packages.
    packages = package_versions(status.read_text(encoding="utf-8")) if status.exists() else {}
    toolchain = {name: os.environ[name.upper()] for name in ("suite", "rust", "python", "pytorch")}
    description = {
        "schema": 1,
        "target": os.environ["IMAGE_TARGET"],
        "toolchain": {"name": os.environ["TOOLCHAIN"], **toolchain},
        "architecture": os.environ["TARGETARCH"],
        "identity": os.environ["IDENTITY"],
        "execution_hash": os.environ["EXECUTION_HASH"],
        "packages": {**packages, "rustc": rustc},
    }
    print(json.dumps(description, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
