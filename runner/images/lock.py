"""Lock files: the exact Debian packages that an image is assembled from, and those that build it.

``docker/lock/TOOLCHAIN/`` holds eight files. ``image-ARCH.txt`` is for an image of that architecture.
``compile-ARCH.txt`` lists the additional packages of a compile image. ``tools-ARCH.txt`` is for the stage that
compiles on a machine of that architecture, and ``cpp-ARCH.txt`` lists what it needs for C++ in addition. Each package
has one line, so that git shows a change and a shell can read it. A build installs only these packages.
"""

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from runner.matrix.toolchain import Toolchain
from runner.system.errors import PackagesDrifted

KINDS = ("image", "compile", "tools", "cpp")
# The lists of packages that apt is asked for, by kind, relative to docker/.
REQUESTS = {"image": "packages.txt", "compile": "compile.txt", "tools": "tools.txt", "cpp": "cpp.txt"}
# The kinds whose packages lie on top of another kind's.
BELOW = {"compile": "image", "cpp": "tools"}
_SHOWN = 20
_HEADER = "# Written by `python -m runner lock`: review its changes in git, edit nothing by hand."
_PACKAGE = re.compile(
    r"(?P<name>[a-z0-9][a-z0-9+.-]+) (?P<version>[A-Za-z0-9][A-Za-z0-9.+~:-]*) (?P<architecture>[a-z0-9]+) "
    r"(?P<size>[0-9]+) (?P<sha256>[0-9a-f]{64}) (?P<path>[A-Za-z0-9][A-Za-z0-9.+~%_/-]*\.deb)"
)
# The package that has a toolchain's version, by the toolchain's pin.
_PINNED = {"rust": r"rustc(-web)?", "python": r"python3\.[0-9]+", "pytorch": "python3-torch"}
_URI = re.compile(r"'(?P<uri>[^']+)' (?P<file>\S+\.deb) (?P<size>[0-9]+) SHA256:(?P<sha256>[0-9a-f]{64})")


@dataclass(frozen=True, kw_only=True, order=True)
class Package:
    """One .deb: ``size`` in bytes, ``path`` below the mirror's address (as in a URL)."""

    name: str
    version: str
    architecture: str
    size: int
    sha256: str
    path: str

    def __str__(self) -> str:
        return f"{self.name} {self.version} {self.architecture} {self.size} {self.sha256} {self.path}"


@dataclass(frozen=True, kw_only=True)
class Lock:
    """The packages, where they come from, and what they were resolved from.

    ``archive`` serves what ``mirror`` no longer does; ``asked`` is what apt was asked to install.
    """

    suite: str
    mirror: str
    archive: str
    asked: tuple[str, ...]
    packages: tuple[Package, ...]

    def __str__(self) -> str:
        head = (
            _HEADER,
            f"# suite: {self.suite}",
            f"# mirror: {self.mirror}",
            f"# archive: {self.archive}",
            f"# asked: {' '.join(self.asked)}",
            "# name version architecture bytes sha256 path",
        )
        return "\n".join((*head, *(str(package) for package in sorted(self.packages)))) + "\n"


@dataclass(frozen=True, kw_only=True)
class Change:
    """A package whose version or file differs. None: the package is absent."""

    name: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        if self.before == self.after:
            return f"{self.name}: {self.before} -> another file of the same version"
        return f"{self.name}: {self.before or 'absent'} -> {self.after or 'absent'}"


def lock_file(root: Path, toolchain: str, kind: str, architecture: str) -> Path:
    """The path of this lock."""
    return root / "docker" / "lock" / toolchain / f"{kind}-{architecture}.txt"


def asked_for(root: Path, kind: str, suite: str) -> tuple[str, ...]:
    """The packages that apt is asked to install, from the lists beside the Dockerfile; a suite's own list comes first."""
    ordinary = root / "docker" / REQUESTS[kind]
    own = ordinary.with_stem(f"{ordinary.stem}-{suite}")
    return tuple((own if own.is_file() else ordinary).read_text(encoding="utf-8").split())


def parse_lock(text: str, *, name: str) -> Lock:
    """The lock in ``text``. An error calls it ``name``.

    Raises:
        PackagesDrifted: the text is not a lock, or two lines hold the same package.
    """
    lines = text.splitlines()
    head = dict(
        line.removeprefix("# ").partition(": ")[::2]
        for line in lines
        if line.startswith("# ") and ": " in line
    )
    packages = []
    for number, line in enumerate(lines, start=1):
        if not line or line.startswith("#"):
            continue
        found = _PACKAGE.fullmatch(line)
        if found is None or ".." in found["path"]:
            raise _unusable(name, f"line {number} is not a package: {line[:80]}")
        packages.append(
            Package(
                name=found["name"],
                version=found["version"],
                architecture=found["architecture"],
                size=int(found["size"]),
                sha256=found["sha256"],
                path=found["path"],
            )
        )
    for key in ("suite", "mirror", "archive", "asked"):
        if not head.get(key):
            raise _unusable(name, f'there is no line "# {key}: ..."')
    if not packages:
        raise _unusable(name, "it holds no package")
    if len({(each.name, each.architecture) for each in packages}) < len(packages):
        raise _unusable(name, "a package is listed twice")
    return Lock(
        suite=head["suite"],
        mirror=head["mirror"],
        archive=head["archive"],
        asked=tuple(head["asked"].split()),
        packages=tuple(sorted(packages)),
    )


def parse_uris(text: str, *, mirror: str) -> tuple[Package, ...]:
    """The packages that ``apt-get --print-uris install`` printed.

    Raises:
        ValueError: a line is of another form, has no SHA-256, or comes from elsewhere than ``mirror``.
    """
    packages = []
    for line in text.splitlines():
        found = _URI.fullmatch(line.strip())
        if found is None or not found["uri"].startswith(f"{mirror}/"):
            raise ValueError(f"not a package of {mirror}: {line[:200]}")
        # apt names the file after the package, and escapes what a file's name may not hold (an epoch's colon).
        name, version, architecture = (
            unquote(part) for part in found["file"].removesuffix(".deb").split("_")
        )
        packages.append(
            Package(
                name=name,
                version=version,
                architecture=architecture,
                size=int(found["size"]),
                sha256=found["sha256"],
                path=found["uri"].removeprefix(f"{mirror}/"),
            )
        )
    return tuple(sorted(packages))


def beyond(less: Iterable[Package], more: Iterable[Package]) -> tuple[Package, ...]:
    """The packages of ``more`` that ``less`` lacks. They are unpacked on top of ``less``.

    Raises:
        ValueError: ``more`` lacks one of ``less``, so that it cannot lie on top.
    """
    below, above = set(less), set(more)
    if not below <= above:
        names = ", ".join(sorted(each.name for each in below - above))
        raise ValueError(f"asked for more packages, apt takes others instead of: {names}")
    return tuple(sorted(above - below))


def changes(before: Iterable[Package], after: Iterable[Package]) -> list[Change]:
    """The packages that differ, by name; a package on two architectures is compared on each."""
    old, new = _by_name(before), _by_name(after)
    return [
        Change(
            name=name,
            before=old[name].version if name in old else None,
            after=new[name].version if name in new else None,
        )
        for name in sorted({*old, *new})
        if name not in old or name not in new or old[name].sha256 != new[name].sha256
    ]


def read_lock(root: Path, toolchain: str, kind: str, architecture: str) -> Lock | None:
    """The committed lock, or None where there is none.

    Raises:
        PackagesDrifted: the file is damaged.
    """
    path = lock_file(root, toolchain, kind, architecture)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise _unusable(str(path.relative_to(root)), str(error)) from error
    return parse_lock(text, name=str(path.relative_to(root)))


def require_lock(root: Path, toolchain: Toolchain, kind: str, architecture: str) -> Lock:
    """The committed lock, checked against the matrix and the package lists.

    Raises:
        PackagesDrifted: there is none, it is damaged, or it was made for something else.
    """
    lock = read_lock(root, toolchain.name, kind, architecture)
    path = lock_file(root, toolchain.name, kind, architecture).relative_to(root)
    if lock is None:
        raise PackagesDrifted(
            what=f"the packages of toolchain {toolchain.name} are not locked: there is no {path}",
            why="an image is assembled from locked packages only, so that it can be assembled again",
            fix=_fix(toolchain.name),
        )
    differences = list(_differences(lock, toolchain, asked_for(root, kind, toolchain.suite)))
    if differences:
        raise PackagesDrifted(
            what=f"{path} was made for something else than toolchain {toolchain.name} asks for",
            why="; ".join(differences),
            fix=_fix(toolchain.name),
        )
    return lock


def drifted(toolchain: str, found: dict[str, list[Change]], *, why: str) -> PackagesDrifted:
    """The error that names the packages whose served version differs from the lock."""
    lines = [f"{name}: {change}" for name, each in found.items() for change in each]
    more = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    listing = "\n".join(f"    {line}" for line in (*lines[:_SHOWN], *more))
    count = f"{len(lines)} locked package{'s' if len(lines) > 1 else ''}"
    return PackagesDrifted(
        what=f"{count} of toolchain {toolchain} drifted (locked -> served)\n{listing}",
        why=why,
        fix=_fix(toolchain),
    )


def other_pins(toolchain: Toolchain, locks: Iterable[Lock]) -> dict[str, str]:
    """The versions in the locks that differ from what the toolchain pins, by the pin's name."""
    found = {
        pin: upstream(package.version)
        for lock in locks
        for package in lock.packages
        for pin, name in _PINNED.items()
        if re.fullmatch(name, package.name)
    }
    return {pin: version for pin, version in found.items() if version != getattr(toolchain, pin)}


def upstream(version: str) -> str:
    """The upstream release in a Debian version: 2.6.0 of 1:2.6.0+dfsg-7."""
    return re.split(r"[-+~]", version.partition(":")[2] or version, maxsplit=1)[0]


def write_locks(root: Path, toolchain: str, locks: dict[tuple[str, str], Lock]) -> list[Path]:
    """Write the locks whose packages or origin changed; return their files. An equal lock keeps its moment."""
    written = []
    for (kind, architecture), lock in locks.items():
        path = lock_file(root, toolchain, kind, architecture)
        try:
            if not _renewed(read_lock(root, toolchain, kind, architecture), lock):
                continue
        except PackagesDrifted:
            # The lock is damaged, and writing it repairs it.
            pass
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new")
        new.write_text(str(lock), encoding="utf-8")
        new.replace(path)
        written.append(path)
    return written


def _renewed(old: Lock | None, new: Lock) -> bool:
    if old is None:
        return True
    same = (old.suite, old.mirror, old.asked, old.packages) == (
        new.suite,
        new.mirror,
        new.asked,
        new.packages,
    )
    return not same


def _differences(lock: Lock, toolchain: Toolchain, asked: tuple[str, ...]) -> Iterator[str]:
    if lock.suite != toolchain.suite:
        yield f"it holds the suite {lock.suite}, not {toolchain.suite}"
    if lock.mirror != toolchain.mirror:
        yield f"it holds what {lock.mirror} served, not {toolchain.mirror}"
    if lock.asked != asked:
        added, gone = sorted(set(asked) - set(lock.asked)), sorted(set(lock.asked) - set(asked))
        said = [
            f"{word} {', '.join(names)}" for word, names in (("not yet", added), ("still", gone)) if names
        ]
        yield f"it holds {' and '.join(said) or 'the packages in another order'}"


def _by_name(packages: Iterable[Package]) -> dict[str, Package]:
    listed = list(packages)
    names = [each.name for each in listed]
    return {
        each.name if names.count(each.name) == 1 else f"{each.name}:{each.architecture}": each
        for each in listed
    }


def _unusable(name: str, why: str) -> PackagesDrifted:
    return PackagesDrifted(
        what=f"the lock {name} cannot be used",
        why=why,
        fix=f"git restore {shlex.quote(name)}, or write it again: python -m runner lock",
    )


def _fix(toolchain: str) -> str:
    return (
        f"python -m runner lock --toolchain {toolchain}, review git diff docker/lock/{toolchain}, commit it; "
        "or build what was served on a day: "
        f"set toolchains.{toolchain}.snapshot in the matrix and lock that"
    )
