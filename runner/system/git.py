"""What git knows of a checkout: its commit, and whether its files differ from it."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

_SECONDS = 60
# Publications are results. Making one must not keep the next from being made.
_RESULTS = "results/published"


@dataclass(frozen=True, kw_only=True)
class Checkout:
    """The commit of a checkout. ``changed`` names what differs from it, new files included."""

    commit: str
    changed: tuple[str, ...]


def checkout_at(root: Path) -> Checkout | None:
    """The checkout in ``root``; None where git is missing, or knows no commit there."""
    commit = _git(root, "rev-parse", "--verify", "HEAD")
    status = _git(root, "status", "--porcelain", "--untracked-files=all", "--", ".", f":(exclude){_RESULTS}")
    if commit is None or status is None:
        return None
    return Checkout(commit=commit.strip(), changed=tuple(line[3:] for line in status.splitlines()))


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            # A look changes nothing, not even git's own index.
            ["git", "--no-optional-locks", "-C", root, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode else done.stdout.decode(errors="replace")
