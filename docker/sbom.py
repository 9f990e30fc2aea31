"""Prints sbom.json: everything that an image holds, as a CycloneDX 1.6 bill of materials, the same bytes each time.

Debian packages come from the image's package status and its lock, wheels from their own metadata, crates from what
Cargo compiled in; nothing of the image is executed.
"""

import email.parser
import hashlib
import json
import os
import re
import sys
import tomllib
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

Component = dict[str, Any]


def purl(kind: str, name: str, version: str, **qualifiers: str) -> str:
    """A package URL; ``name`` may hold a namespace before a slash."""
    # A colon stays as it is, by the rules of package URLs.
    asked = "&".join(f"{key}={quote(value, safe=':')}" for key, value in sorted(qualifiers.items()))
    return f"pkg:{kind}/{quote(name, safe='/')}@{quote(version, safe=':')}" + (f"?{asked}" if asked else "")


def component(kind: str, name: str, version: str, identifier: str, **more: Any) -> Component:
    """A component whose package URL is also the name by which the bill refers to it."""
    return {"type": kind, "bom-ref": identifier, "name": name, "version": version, "purl": identifier, **more}


def sha256(value: str) -> dict[str, list[dict[str, str]]]:
    """The member that holds a checksum."""
    return {"hashes": [{"alg": "SHA-256", "content": value}]}


def locked(text: str) -> dict[tuple[str, str, str], str]:
    """The checksum of each package of a lock file, by name, version and architecture."""
    rows = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return {(name, version, architecture): checksum for name, version, architecture, _, checksum, _ in rows}


def debian(status: str, lock: str) -> Iterator[Component]:
    """The packages of a dpkg status file; each must be in the lock."""
    checksums = locked(lock)
    for paragraph in filter(str.strip, status.split("\n\n")):
        fields = dict(
            line.split(": ", 1) for line in paragraph.splitlines() if ": " in line and line[0] != " "
        )
        name, version, architecture = fields["Package"], fields["Version"], fields["Architecture"]
        if (name, version, architecture) not in checksums:
            raise SystemExit(
                f"forge-bench: {name} {version} {architecture} is in the image and not in its lock"
            )
        yield component(
            "library",
            name,
            version,
            purl("deb", f"debian/{name}", version, arch=architecture),
            **sha256(checksums[name, version, architecture]),
        )


def wheels(site_packages: Path) -> Iterator[Component]:
    """The Python packages of a directory, from their own metadata."""
    for path in site_packages.glob("*.dist-info/METADATA"):
        fields = email.parser.Parser().parsestr(path.read_text(encoding="utf-8"), headersonly=True)
        # PyPI's own spelling, which package URLs ask for.
        name = re.sub(r"[-_.]+", "-", str(fields["Name"])).lower()
        licence = fields.get("License-Expression")
        yield component(
            "library",
            name,
            str(fields["Version"]),
            purl("pypi", name, str(fields["Version"])),
            **({"licenses": [{"expression": str(licence)}]} if licence else {}),
        )


def crates(tree: str, lock: str) -> Iterator[Component]:
    """The crates of ``cargo tree --format {p}|{l}``, with their checksums from Cargo.lock."""
    checksums = {
        (each["name"], each["version"]): each.get("checksum") for each in tomllib.loads(lock)["package"]
    }
    for line in filter(str.strip, dict.fromkeys(tree.splitlines())):
        said, _, licence = line.partition("|")
        name, version = said.split()[:2]
        version = version.removeprefix("v")
        checksum = checksums[name, version]
        yield component(
            "library",
            name,
            version,
            # Without a checksum it is a crate of this workspace, which no registry has.
            purl("cargo", name, version) if checksum else purl("generic", f"forge-bench/{name}", version),
            **(sha256(checksum) if checksum else {}),
            # The old way to write OR.
            **({"licenses": [{"expression": licence.replace("/", " OR ")}]} if licence else {}),
        )


def standard_library(lock: str, architecture: str) -> Component:
    """Rust's standard library, which is compiled into the binaries."""
    for (name, version, built_for), checksum in locked(lock).items():
        if name.startswith("libstd-rust") and name.endswith("-dev") and built_for == architecture:
            identifier = purl("deb", f"debian/{name}", version, arch=architecture)
            return component("library", name, version, identifier, **sha256(checksum))
    raise SystemExit(f"forge-bench: the tools' lock holds no standard library of Rust for {architecture}")


def linked_in(lock: str, architecture: str) -> Iterator[Component]:
    """The C library and the compiler's own, whose code a static binary holds."""
    wanted = re.compile(r"(libc6|libgcc-\d+)-dev")
    found = set()
    for (name, version, built_for), checksum in locked(lock).items():
        # For the building machine's own architecture, or for another one.
        own = wanted.fullmatch(name) if built_for == architecture else None
        match = own or wanted.fullmatch(name.removesuffix(f"-{architecture}-cross"))
        if match is None or (own is None and not name.endswith("-cross")):
            continue
        found.add(match[1].partition("-")[0])
        identifier = purl("deb", f"debian/{name}", version, arch=built_for)
        yield component("library", name, version, identifier, **sha256(checksum))
    if found != {"libc6", "libgcc"}:
        raise SystemExit(f"forge-bench: the tools' lock holds no static libraries for {architecture}")


def programs(artefacts: Path, version: str) -> Iterator[Component]:
    """Our own compiled files, each with the checksum of its bytes."""
    # Beside a program lies what it took to compile it.
    found = [(path, "application") for path in artefacts.glob("bin/*") if path.suffix != ".compile-seconds"]
    found += [(path, "library") for path in artefacts.glob("site-packages/*/*.so")]
    for path, kind in found:
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        identifier = purl("generic", f"forge-bench/{path.name}", version, checksum=f"sha256:{content}")
        yield component(kind, path.name, version, identifier, **sha256(content))


def main(inputs: Path) -> None:
    """Print the bill of what lies below ``inputs``; the build's arguments arrive as environment variables."""

    def read(name: str) -> str:
        return (inputs / name).read_text(encoding="utf-8")

    version = tomllib.loads(read("pyproject.toml"))["project"]["version"]
    edge = os.environ["IMAGE_TARGET"] == "edge"
    locks = [read(name) for name in ("image.lock", "compile.lock") if (inputs / name).exists()]
    lists = sorted(str(path.relative_to(inputs)) for path in inputs.glob("artefacts/crates/*"))
    named = ("IMAGE_TARGET", "TOOLCHAIN", "SUITE", "RUST", "PYTHON", "PYTORCH", "TARGETARCH", "IDENTITY")
    parts = [
        *(linked_in(read("tools.lock"), os.environ["TARGETARCH"]) if edge else ()),
        *(() if edge else debian(read("status"), "\n".join(locks))),
        *wheels(inputs / "site-packages"),
        # A list for each program; what several hold is in the image once.
        *crates("".join(map(read, lists)), read("Cargo.lock")),
        *programs(inputs / "artefacts", version),
        standard_library(read("tools.lock"), os.environ["TARGETARCH"]),
    ]
    bill = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        # From the identity: the same inputs give the same bill, and no other image has its number.
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, 'forge-bench:' + os.environ['IDENTITY'])}",
        "version": 1,
        "metadata": {
            "lifecycles": [{"phase": "build"}],
            "component": {
                "type": "container",
                "bom-ref": "forge-bench",
                "name": "forge-bench",
                "version": version,
                "licenses": [{"expression": "Apache-2.0"}],
                "properties": [
                    {"name": f"forge-bench:{name.lower()}", "value": os.environ[name]} for name in named
                ],
            },
        },
        "components": sorted(parts, key=lambda each: str(each["bom-ref"])),
    }
    print(json.dumps(bill, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
