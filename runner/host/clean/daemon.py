"""Everything of ours that a daemon holds: containers, images and steps of builds, found with one look at its disk."""

from collections.abc import Collection, Sequence
from pathlib import Path

import docker
from runner.host.clean.cache import Step, layers_gone, ours, prune, steps_of
from runner.host.clean.containers import find_containers
from runner.host.clean.images import find_images
from runner.host.clean.item import Area, Item
from runner.host.connection import connect

# A daemon adds up the sizes of all its layers for this; a minute is nothing unusual.
_SECONDS = 600


class Daemon:
    """What one daemon holds of ours. Asked once, when it is made.

    Raises:
        DockerUnavailable: no daemon answers.
    """

    def __init__(self, root: Path) -> None:
        self._client, _ = connect(timeout=_SECONDS)
        self._scripts = tuple(
            path.name for path in (root / "docker").iterdir() if path.suffix in (".sh", ".py")
        )
        self._usage = self._client.df()
        self._before = steps_of(self._usage["BuildCache"])

    def areas(self, wanted: Collection[str]) -> tuple[Area, ...]:
        """The areas of these names, in the order in which they are to be emptied."""
        found = []
        if "containers" in wanted:
            found.append(find_containers(self._client))
        if "images" in wanted:
            found.append(find_images(self._client, self._usage["Images"] or ()))
        if "cache" in wanted:
            found.append(self._cache())
        return tuple(found)

    def _cache(self) -> Area:
        steps = ours(self._before, self._scripts)
        rest = sum(step.size_bytes for name, step in self._before.items() if step not in steps)
        item = Item(
            name="steps of forge-bench builds",
            count=len(steps),
            # A layer that an image shares is counted with the image.
            size_bytes=sum(step.size_bytes for step in steps if not step.shared),
            remove=self._prune,
        )
        return Area(
            name="cache",
            items=(item,) if steps else (),
            stays=(
                f"{_megabytes(rest)} of the build cache are layers of images, or of builds that cannot be told from "
                "other projects' (docker builder prune removes all of the cache, whoever made it)",
            )
            if rest
            else (),
        )

    def _prune(self) -> str | None:
        """With the images that have just gone, what was kept of the cache as their layers goes too."""
        after = steps_of(self._client.df()["BuildCache"])
        left: Sequence[Step] = ours(after, self._scripts, also=layers_gone(self._before, after))
        prune(self._client, left)
        return None


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.0f} MB"
