"""The notices of what is compiled in, put into wheels: python tools/wheel/notices.py TARGET WHEEL...

Cargo says which crates are compiled in for the target; crates that only build are not. Rust's own library is.
"""

import base64
import hashlib
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

CRATE = Path(__file__).resolve().parents[2] / "rust" / "crates" / "torchforge-py"
NOTICE = re.compile(r"licen[cs]e|copying|copyright|notice|unlicense", re.IGNORECASE)
LIBRARY = "share/doc/rust/COPYRIGHT-library.html"
FILE = "THIRD-PARTY-NOTICES.txt"


def main(target: str, *wheels: str) -> int:
    """Write the wheels anew; 21 where the toolchain came without its notices."""
    library = Path(said("rustc", "--print", "sysroot").strip()) / LIBRARY
    if not library.exists():
        sys.stderr.write(
            f"forge-bench: a wheel carries the notices of Rust's library, and there is no {library}; "
            "to do: compile with a Rust of rustup\n"
        )
        return 21
    holders: dict[str, list[str]] = {}
    for name, folder in compiled_in(target):
        for file in sorted(folder.iterdir()):
            if file.is_file() and NOTICE.match(file.name):
                holders.setdefault(file.read_text(encoding="utf-8").strip(), []).append(f"{name} {file.name}")
    holders[library.read_text(encoding="utf-8").strip()] = ["Rust's standard library"]
    line = "=" * 100
    notices = "\n".join(f"{line}\n{', '.join(names)}\n{line}\n{text}\n" for text, names in holders.items())
    for wheel in wheels:
        put(Path(wheel), notices)
    return 0


def compiled_in(target: str) -> Iterator[tuple[str, Path]]:
    """Each foreign crate in the wheel, and the folder of its sources."""
    common = ("--locked", "--manifest-path", str(CRATE / "Cargo.toml"))
    tree = said(
        *("cargo", "tree", *common, "--target", target, "--edges", "normal,no-proc-macro"),
        *("--prefix", "none", "--no-dedupe", "--format", "{p}"),
    )
    within = {tuple(line.split()[:2]) for line in tree.splitlines()}
    metadata = said("cargo", "metadata", *common, "--format-version", "1", "--filter-platform", target)
    for crate in json.loads(metadata)["packages"]:
        if crate["source"] and (crate["name"], f"v{crate['version']}") in within:
            yield f"{crate['name']} {crate['version']}", Path(crate["manifest_path"]).parent


def put(wheel: Path, notices: str) -> None:
    """The notices beside the wheel's own licence, named in its metadata and in its list of files."""
    with zipfile.ZipFile(wheel) as old:
        entries = {entry.filename: entry for entry in old.infolist()}
        files = {name: old.read(name) for name in entries}
    (record,) = (name for name in files if name.endswith(".dist-info/RECORD"))
    folder = record.removesuffix("RECORD")
    if f"{folder}licenses/{FILE}" in files:
        return
    mode = entries[record].external_attr
    del files[record]
    files[f"{folder}licenses/{FILE}"] = notices.encode()
    named = f"License-File: {FILE}\nLicense-File:".encode()
    files[f"{folder}METADATA"] = files[f"{folder}METADATA"].replace(b"License-File:", named, 1)
    rows = [f"{name},sha256={digest(data)},{len(data)}" for name, data in files.items()]
    files[record] = "\n".join([*rows, f"{record},,", ""]).encode()
    written = wheel.with_suffix(".part")
    with zipfile.ZipFile(written, "w") as new:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = entries[name].external_attr if name in entries else mode
            new.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)
    written.replace(wheel)


def digest(data: bytes) -> str:
    """As a wheel's RECORD writes it."""
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def said(*words: str) -> str:
    """What a program writes to stdout."""
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
