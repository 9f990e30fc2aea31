"""The steps of our builds in BuildKit's cache, told from other projects' steps by their commands and results.

BuildKit keeps no project's name. It keeps the command of each step, the parents of each step, and which steps are
layers of an image. Our steps execute scripts in ``/forge/`` of their build stage, cache mounts included. So a step is
ours in four cases:

* It executed such a command.
* It descends from such a step.
* It leads only to such steps.
* It was a layer of images that have just been removed, and is a layer of no other image.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import docker
from runner.daemon.connection import BROKEN_CONNECTION

# The folder of the Dockerfile's scripts in the build stages, and the place that our sources are compiled for.
_SCRIPTS, _SOURCES = "/forge/", " /opt/forge-bench "
# The type of a step that only copies files. Sources and pulled images belong to no single project.
_COPY = "fileop"


@dataclass(frozen=True, kw_only=True)
class Step:
    """One record of the cache."""

    identifier: str
    parents: tuple[str, ...]
    description: str
    size_bytes: int
    shared: bool
    in_use: bool


def steps_of(listed: Iterable[Mapping[str, Any]] | None) -> dict[str, Step]:
    """The records that ``docker system df`` lists, by their identifiers."""
    return {
        str(each["ID"]): Step(
            identifier=str(each["ID"]),
            # One in the interface up to 1.41, several from 1.42 on.
            parents=tuple(each.get("Parents") or filter(None, [each.get("Parent")])),
            description=str(each.get("Description", "")),
            size_bytes=int(each.get("Size") or 0),
            shared=bool(each.get("Shared")),
            in_use=bool(each.get("InUse")),
        )
        for each in listed or ()
    }


def ours(steps: Mapping[str, Step], scripts: Iterable[str], also: Iterable[str] = ()) -> tuple[Step, ...]:
    """Our steps, children before their parents, in the order of removal.

    Args:
        steps: all records of the cache.
        scripts: the names of the files that the Dockerfile executes.
        also: identifiers of records that are known to be ours for another reason.
    """
    children: dict[str, list[str]] = {name: [] for name in steps}
    for step in steps.values():
        for parent in step.parents:
            children.setdefault(parent, []).append(step.identifier)
    marks = (_SOURCES, *(_SCRIPTS + script for script in scripts))
    found = {name for name, step in steps.items() if any(mark in step.description for mark in marks)}
    found |= set(also) & steps.keys()
    _add_descendants(found, children)
    grown = True
    while grown:
        leading = {
            name
            for name, step in steps.items()
            if name not in found
            and _COPY in step.description
            and children[name]
            and set(children[name]) <= found
        }
        found |= leading
        grown = bool(leading)
    return tuple(steps[name] for name in _leaves_first(found, children))


def layers_gone(before: Mapping[str, Step], after: Mapping[str, Step]) -> frozenset[str]:
    """The records that were layers of an image, and are layers of no image now."""
    return frozenset(
        name for name, step in after.items() if not step.shared and name in before and before[name].shared
    )


def prune(client: docker.DockerClient, steps: Sequence[Step]) -> int:
    """Remove these steps one by one; return the freed bytes. A step that another step needs stays."""
    freed = 0
    for step in steps:
        filters: Any = {"id": step.identifier}
        try:
            answer = client.api.prune_builds(filters=filters, all=True)
        except BROKEN_CONNECTION:
            continue
        freed += int(answer.get("SpaceReclaimed") or 0)
    return freed


def _add_descendants(found: set[str], children: Mapping[str, Sequence[str]]) -> None:
    waiting = list(found)
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child not in found:
                found.add(child)
                waiting.append(child)


def _leaves_first(found: set[str], children: Mapping[str, Sequence[str]]) -> list[str]:
    order: list[str] = []
    done: set[str] = set()
    for start in sorted(found):
        stack = [(start, False)]
        while stack:
            name, expanded = stack.pop()
            if expanded:
                order.append(name)
            elif name not in done:
                done.add(name)
                stack.append((name, True))
                stack += [(child, False) for child in children.get(name, ()) if child in found]
    return order
