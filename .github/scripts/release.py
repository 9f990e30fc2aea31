#!/usr/bin/env python3
# ruff: noqa: T201 (a command of the release workflow)
"""What a release says of itself.

    release.py check TAG                              whether every place states the tag's version
    release.py platforms DIGESTS                      the images of single platforms, as JSON for a job matrix
    release.py subjects REPOSITORY DIGESTS FILE...    everything released, as checksums for one attestation
    release.py notes TAG REPOSITORY DIGESTS FILE...   the release's text: what changed, digests, checksums

DIGESTS is what push_images.sh printed. Standard library alone: it runs before anything is installed.
"""

import argparse
import hashlib
import json
import re
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Entry:
    """One thing that was pushed: an index, or the image of one platform in it."""

    target: str
    platform: str
    digest: str

    @property
    def is_index(self) -> bool:
        """Whether this joins several platforms."""
        return self.platform == "index"


def read_entries(path: Path) -> list[Entry]:
    """What push_images.sh printed."""
    return [Entry(*line.split("\t")) for line in path.read_text(encoding="utf-8").splitlines() if line]


def versions(root: Path) -> dict[str, str]:
    """The version that each place of the repository states, by the name of the place."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    workspace = tomllib.loads((root / "rust" / "Cargo.toml").read_text(encoding="utf-8"))
    newest = re.search(
        r"^## \[?(\d[^\]\s]*)\]? - \d", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.M
    )
    return {
        "pyproject.toml": project["project"]["version"],
        "rust/Cargo.toml": workspace["workspace"]["package"]["version"],
        "CHANGELOG.md": newest.group(1) if newest else "nothing with a date",
    }


def disagreements(tag: str, root: Path) -> list[str]:
    """Every place that states another version than ``tag``, as a line each."""
    return [
        f"{place} says {version}, the tag says {tag}"
        for place, version in versions(root).items()
        if f"v{version}" != tag
    ]


def changes(changelog: str, version: str) -> str:
    """The changelog's text of one version, without its heading.

    Raises:
        SystemExit: there is none.
    """
    found = re.search(rf"^## \[?{re.escape(version)}\]?[^\n]*\n(.*?)(?=^## |^\[|\Z)", changelog, re.M | re.S)
    if found is None:
        raise SystemExit(f"release: CHANGELOG.md has no section for {version}")
    return found.group(1).strip()


def checksums(files: Sequence[Path]) -> list[str]:
    """SHA-256 and name of each file, in the form of sha256sum."""
    return [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in sorted(files)]


def subjects(repository: str, pushed: Sequence[Entry], files: Sequence[Path]) -> str:
    """Images and files alike in the form of sha256sum."""
    images = [f"{each.digest.removeprefix('sha256:')}  {repository}" for each in pushed]
    return "\n".join([*images, *checksums(files)]) + "\n"


def platforms(pushed: Sequence[Entry]) -> str:
    """The images of single platforms as a JSON list: what can be run, and has a bill of materials."""
    return json.dumps(
        [
            {
                "target": each.target,
                "architecture": each.platform.partition("/")[2],
                "digest": each.digest,
            }
            for each in pushed
            if not each.is_index
        ]
    )


def notes(
    tag: str, repository: str, pushed: Sequence[Entry], files: Sequence[Path], *, changelog: str
) -> str:
    """The release's text.

    Args:
        tag: v and the version.
        repository: of the images, with the registry's name.
        pushed: what is in it, at least one image of the target core.
        files: what is attached to the release.
        changelog: the whole of CHANGELOG.md.
    """
    rows = [f"| {each.target} | {each.platform} | `{repository}@{each.digest}` |" for each in pushed]
    image = next(
        f"{repository}@{each.digest}" for each in pushed if each.target == "core" and not each.is_index
    )
    lines = [
        changes(changelog, tag.removeprefix("v")),
        "",
        "## Images",
        "",
        "An index holds the images of several platforms. Name a platform's own digest where a result must repeat.",
        "",
        "| target | platform | image |",
        "|---|---|---|",
        *rows,
        "",
        f"    docker run --rm --network none {image} dqn --profile smoke",
        f"    gh attestation verify oci://{image} --repo {repository.partition('/')[2]}",
        "",
        "## Files",
        "",
        "`torchforge_rl-*.whl` is the Rust module for Python, `forge_bench-*.whl` the runner; `*.cdx.json` are the bills",
        "of materials of the images, in CycloneDX. SHA-256:",
        "",
        *(f"    {line}" for line in checksums(files)),
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Read the command line, print the result; 1 where versions disagree."""
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    for name, words in (
        ("check", ("tag",)),
        ("platforms", ("digests",)),
        ("subjects", ("repository", "digests", "files")),
        ("notes", ("tag", "repository", "digests", "files")),
    ):
        command = commands.add_parser(name)
        for word in words:
            kind = str if word in ("tag", "repository") else Path
            command.add_argument(word, type=kind, nargs="*" if word == "files" else None)
    given = parser.parse_args()
    if given.command == "check":
        wrong = disagreements(given.tag, ROOT)
        print("\n".join(wrong) or f"{given.tag}: every place agrees", file=sys.stderr)
        return 1 if wrong else 0
    pushed = read_entries(given.digests)
    if given.command == "platforms":
        print(platforms(pushed))
    elif given.command == "subjects":
        print(subjects(given.repository, pushed, given.files), end="")
    else:
        changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
        print(notes(given.tag, given.repository, pushed, given.files, changelog=changelog), end="")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
