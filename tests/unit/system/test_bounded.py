"""What others may have written is read in little memory: each reader in a process that may have no more."""

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LIMITED = """
import resource, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
{imports}
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + {room}, used + {room}))
path = Path(sys.argv[2])
{body}
"""


def limited(path: Path, *, imports: str, body: str, room: int = 64 * 2**20) -> str:
    program = LIMITED.format(imports=imports, body=body, room=room)
    ended = subprocess.run(
        [sys.executable, "-c", program, str(ROOT), str(path)], capture_output=True, text=True, check=False
    )
    return ended.stdout.strip() + ended.stderr.strip()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds the addresses of a process so")
def test_a_small_file_takes_little_memory_however_large_it_might_be(tmp_path):
    (tmp_path / "record.json").write_bytes(b"x" * 8192)
    said = limited(
        tmp_path / "record.json",
        imports="from runner.system.bounded_reading import read_bounded",
        body="print(len(read_bounded(path, 512 * 2**20)))",
    )
    assert said == "8192"


def test_a_file_of_just_the_bound_is_read_and_one_more_byte_is_not(tmp_path):
    from runner.system.bounded_reading import read_bounded  # noqa: PLC0415

    (tmp_path / "x").write_bytes(b"y" * 3_000_000)
    assert read_bounded(tmp_path / "x", 3_000_000) == b"y" * 3_000_000
    with pytest.raises(OSError, match="larger than"):
        read_bounded(tmp_path / "x", 2_999_999)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds the addresses of a process so")
@pytest.mark.parametrize(
    "kind", [tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE]
)
@pytest.mark.parametrize("suffix", ["tar", "tar.gz"])
def test_a_small_archive_whose_header_claims_gigabytes_is_refused(tmp_path, kind, suffix):
    header = tarfile.TarInfo("x")
    header.type, header.size = kind, 3 * 2**30
    path = tmp_path / f"image.{suffix}"
    content = header.tobuf(tarfile.GNU_FORMAT) + bytes(7 * 1024)
    if suffix == "tar.gz":
        import gzip  # noqa: PLC0415

        content = gzip.compress(content)
    path.write_bytes(content)
    said = limited(
        path,
        imports="import gzip, bz2, lzma\nfrom runner.images.reference import candidates\n"
        "from runner.system.errors import ImageNotFound",
        body="try:\n    candidates(str(path), ['amd64'])\nexcept ImageNotFound as error:\n    print(error.why)",
    )
    assert "a header of 3221225472 bytes" in said
    assert "MemoryError" not in said
