"""Hands over links where files are wanted."""

from pathlib import Path

case = Path("/outputs/T=128")
case.mkdir()
(case / "advantages.npy").symlink_to("/etc/passwd")
(case / "returns.npy").symlink_to("../../../../../../etc/shadow")
