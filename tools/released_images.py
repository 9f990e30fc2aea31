"""The digests of a release's images, written to images.json: by them a checkout of the same files pulls and never builds.

    python -m runner build --profile full | .github/scripts/push_images.sh REPOSITORY VERSION > digests.tsv
    python -m tools.released_images REPOSITORY digests.tsv

Each image is asked for in the registry, and must be one that this checkout would build.
"""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from runner.images.identity import identify
from runner.images.reference import candidates
from runner.images.released import Released, write_released
from runner.images.spec import ImageSpec
from runner.matrix import load_matrix
from runner.matrix.images import OURS
from runner.matrix.toolchain import Toolchain
from runner.system.errors import ForgeBenchError

ROOT = Path(__file__).parents[1]
_INDEX = "index"


def pushed(lines: Iterable[str]) -> list[tuple[str, str, str]]:
    """Target, architecture and digest of each image that push_images.sh printed; an index is no image."""
    rows = [line.split("\t") for line in lines if line.strip()]
    return [
        (target, platform.partition("/")[2], digest)
        for target, platform, digest in rows
        if platform != _INDEX
    ]


def released(
    repository: str, images: Iterable[tuple[str, str, str]], toolchains: Sequence[Toolchain], root: Path
) -> list[Released]:
    """The images of a release, each as the registry has it.

    Raises:
        SystemExit: an image has other inputs than the files of ``root``.
        ImageNotFound: the registry does not have one.
    """
    found = []
    for target, architecture, digest in images:
        (candidate,) = candidates(f"{repository}@{digest}", [architecture])
        specs = [
            ImageSpec(target=OURS[target], architecture=architecture, toolchain=each) for each in toolchains
        ]
        identity = candidate.facts.identity
        if identity is None or identity not in {identify(spec, root).identity for spec in specs}:
            raise SystemExit(
                f"released_images: {target} {architecture} {digest} was not built from the files of this checkout: "
                "build and push again, from exactly the commit that is released"
            )
        found.append(Released(target=target, architecture=architecture, identity=identity, digest=digest))
    return found


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repository", help="where the images were pushed to, as in `registry` of matrix.yaml")
    parser.add_argument("digests", type=Path, help="the output of push_images.sh")
    options = parser.parse_args()
    toolchains = tuple(load_matrix(ROOT / "matrix.yaml").toolchains.values())
    try:
        images = released(
            options.repository, pushed(options.digests.read_text("utf-8").splitlines()), toolchains, ROOT
        )
    except ForgeBenchError as error:
        raise SystemExit(f"released_images: {error}") from error
    print(f"{write_released(ROOT, images)}: {len(images)} images")


if __name__ == "__main__":
    main()
