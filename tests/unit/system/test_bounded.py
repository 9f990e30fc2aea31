"""What others may have written is read in little memory: each reader in a process that may have no more."""

import gzip
import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
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


# --- files that would be made into many more bytes than they have ---------------------------------------------------

MIB = 2**20
OBJECTS = b"[" + b"{}," * (20 * MIB) + b"{}]"
LISTS = b"[" + b"[]," * (20 * MIB) + b"[]]"
NUMBERS = b"[" + b"100," * (15 * MIB) + b"100]"


def named(items: bytes) -> bytes:
    return b'{"content_sha256":"","x":' + items + b"}"


@pytest.mark.parametrize("text", [OBJECTS, LISTS, NUMBERS, b"[" * (60 * MIB)], ids=["{}", "[]", "100", "["])
def test_episodes_take_a_few_times_the_memory_of_their_file(tmp_path, text):
    (tmp_path / "episodes.json").write_bytes(text)
    said = limited(
        tmp_path / "episodes.json",
        imports="from runner.gate.check import Refused\nfrom runner.gate.episodes import read_episodes",
        body="try: read_episodes(path)\nexcept Refused as error: print(error.failure.kind.value)",
        room=3 * len(text),
    )
    assert said == "unreadable-output"


def test_as_many_episodes_as_a_record_holds_are_read_in_a_few_times_their_files_memory(tmp_path):
    text = b",".join(b'{"step":%d,"length":1,"return":1.5}' % each for each in range(1_000_000))
    (tmp_path / "episodes.json").write_bytes(b"[" + text + b"]")
    said = limited(
        tmp_path / "episodes.json",
        imports="from runner.gate.episodes import read_episodes",
        body="print(len(read_episodes(path)))",
        # Each episode is an object of three numbers, twice over: as written and as recorded.
        room=8 * len(text),
    )
    assert said == "1000000"


@pytest.mark.parametrize("items", [OBJECTS, LISTS, NUMBERS * 3], ids=["{}", "[]", "100"])
def test_a_record_that_holds_more_than_any_is_refused_before_it_is_made_into_objects(tmp_path, items):
    (tmp_path / "record.json").write_bytes(named(items))
    said = limited(
        tmp_path / "record.json",
        imports="from runner.records.record_file import read_record",
        body="try: read_record(path)\nexcept ValueError as error: print('no record:', error)",
        room=3 * len(items),
    )
    assert said.startswith("no record: it holds more than")


def test_versions_that_an_image_prints_without_end_are_not_kept(tmp_path):
    said = limited(
        tmp_path,
        imports="from runner.running.pins import _Said, _versions",
        body="said = _Said()\nfor _ in range(5_000_000): said.take('12')\nprint(_versions(said.text))",
        room=16 * MIB,
    )
    assert said == "None"


def test_an_archive_of_more_entries_than_an_image_has_is_refused(tmp_path):
    block = tarfile.TarInfo("x").tobuf() * 1000
    with gzip.open(tmp_path / "many.tar.gz", "wb", compresslevel=1) as file:
        for _ in range(3000):
            file.write(block)
    said = limited(
        tmp_path / "many.tar.gz",
        imports="from runner.images.reference import candidates\nfrom runner.system.errors import ImageNotFound",
        body="try: candidates(str(path), [])\nexcept ImageNotFound as error: print(error.why)",
    )
    assert said == "more than 20000 entries"


def test_an_archive_that_names_one_large_configuration_many_times_takes_it_once(tmp_path):
    configuration = b'{"x": "' + b"x" * (2 * MIB - 100) + b'"}'
    manifest = json.dumps([{"Config": "c"}] * 90).encode()
    with tarfile.open(tmp_path / "image.tar", "w") as file:
        for name, content in (("manifest.json", manifest), ("c", configuration)):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            file.addfile(entry, io.BytesIO(content))
    said = limited(
        tmp_path / "image.tar",
        imports="from runner.images.reference import candidates",
        body="print(len(candidates(str(path), [])))",
        room=32 * MIB,
    )
    assert said == "90"


GATE = "import numpy as np\nfrom runner.gate.outputs import compare, read_output\nfrom runner.matrix import OutputCheck"


@pytest.mark.parametrize("kind", ["u1", "f2", "f4", "i8"])
def test_outputs_are_compared_in_little_more_memory_than_both_take(tmp_path, kind):
    np.save(tmp_path / "x.npy", np.zeros(32 * MIB // np.dtype(kind).itemsize, kind))
    said = limited(
        tmp_path / "x.npy",
        imports=GATE,
        body="check = OutputCheck(file='x.npy', rtol=1e-6, atol=0.0, scaled=None, drift=None, tensors={})\n"
        "print([each.passed for each in compare(check, read_output(path), read_output(path))])",
        # Both, and one more while it is read.
        room=(3 * 32 + 48) * MIB,
    )
    assert said == "[True]"


def test_a_header_of_many_tensors_is_refused_before_it_is_read(tmp_path):
    header = json.dumps(
        {f"t{each}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for each in range(400_000)}
    ).encode()
    (tmp_path / "x.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    said = limited(
        tmp_path / "x.safetensors",
        imports="from runner.gate.arrays import Unreadable, read_arrays",
        body="try: read_arrays(path)\nexcept Unreadable as error: print(error)",
        room=16 * MIB,
    )
    assert "its header is larger" in said
