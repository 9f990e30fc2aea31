"""What a bundle holds, that the same things give the same bytes, and that no byte of it can change unseen."""

import json
import subprocess
import tarfile
from hashlib import sha256
from pathlib import Path

import pytest

from bundles.conftest import RESULTS, Saved
from runner.bundles.contents import SUMS, sums_of
from runner.bundles.read import opened_bundle
from runner.bundles.write import write_bundle
from runner.images.archive import images_in, write_alone
from runner.system.bounded_archive import MOST_ENTRIES
from runner.system.errors import DamagedBundle, UsageError
from runner.system.plain_tar import read_members, write_end, write_member


def files_of(path: Path) -> dict[str, bytes]:
    return {each.name: b"".join(each.content.blocks()) for each in read_members(path)}


def rewritten(path: Path, files: dict[str, bytes], *, sums: bool = True) -> Path:
    """A bundle of these files, as a forger would write it."""
    rest = {name: content for name, content in files.items() if name != SUMS}
    first = (
        sums_of({name: sha256(content).hexdigest() for name, content in rest.items()})
        if sums
        else files[SUMS]
    )
    with path.open("wb") as archive:
        write_member(archive, SUMS, first)
        for name, content in rest.items():
            write_member(archive, name, content)
        write_end(archive)
    return path


def why_refused(path: Path) -> str:
    with pytest.raises(DamagedBundle) as refused, opened_bundle(path):
        pass
    return refused.value.why


def test_results_come_out_as_they_went_in(bundle):
    with opened_bundle(bundle) as folder:
        found = {
            path.relative_to(folder.parent).as_posix(): path.read_bytes()
            for path in folder.parent.rglob("*")
            if path.is_file()
        }
        assert found == RESULTS
    assert not folder.exists()


def test_the_same_results_and_images_give_the_same_bytes(bundle, saved, tmp_path):
    again = tmp_path / "again.tar"
    write_bundle(again, name="a", records=1, files=dict(reversed(RESULTS.items())), images=saved.images)
    assert again.read_bytes() == bundle.read_bytes()


def test_a_bundle_is_an_archive_of_its_images_without_their_names(bundle, saved: Saved, tmp_path):
    (image,) = images_in(bundle)
    assert image.digest == saved.digest
    (entry,) = json.loads(files_of(bundle)["manifest.json"])
    assert entry["RepoTags"] is None
    write_alone(bundle, saved.digest, name="ours:one", into=tmp_path / "alone.tar")
    with tarfile.open(tmp_path / "alone.tar") as archive:
        assert archive.extractfile("0.tar").read() == saved.layers[0]


def test_bill_of_materials_and_licences_of_each_image_lie_beside_it(bundle, tmp_path):
    files = files_of(bundle)
    (bill,) = (name for name in files if name.startswith("sbom/core-amd64-"))
    assert json.loads(files[bill]) == {"bomFormat": "CycloneDX"}
    (packed,) = (name for name in files if name.startswith("licences/core-amd64-"))
    (tmp_path / "licences.tar").write_bytes(files[packed])
    with tarfile.open(tmp_path / "licences.tar") as archive:
        assert {each.name: archive.extractfile(each).read() for each in archive} == {
            "opt/forge-bench/licenses/a-1.0/LICENSE": b"MIT",
            "usr/share/doc/libc6/copyright": b"LGPL",
        }


def test_the_checksums_are_those_that_sha256sum_reads(bundle, tmp_path):
    with tarfile.open(bundle) as archive:
        archive.extractall(tmp_path / "out", filter="data")
    checked = subprocess.run(
        ["sha256sum", "--check", "--strict", SUMS],
        cwd=tmp_path / "out",
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stderr
    assert checked.stdout.count(": OK") == len(files_of(bundle)) - 1


def test_one_changed_byte_of_any_file_is_refused_and_the_file_is_named(bundle):
    whole = bundle.read_bytes()
    for each in list(read_members(bundle))[1:]:
        changed = bytearray(whole)
        changed[each.content.offset + each.content.size // 2] ^= 1
        bundle.write_bytes(changed)
        assert why_refused(bundle) == f"{each.name} is not what SHA256SUMS says"
    bundle.write_bytes(whole)
    with opened_bundle(bundle):
        pass


def test_every_byte_of_the_checksums_matters(bundle):
    whole = bundle.read_bytes()
    first = next(read_members(bundle)).content
    for place in range(first.offset, first.offset + first.size):
        changed = bytearray(whole)
        changed[place] ^= 1
        bundle.write_bytes(changed)
        assert why_refused(bundle)


def test_a_file_that_was_added_left_out_or_doubled_is_named(bundle, tmp_path):
    files = files_of(bundle)
    added = dict(sorted({**files, "results/more": b""}.items()))
    assert "results/more is not in SHA256SUMS" in why_refused(rewritten(tmp_path / "b", added, sums=False))
    fewer = {name: content for name, content in files.items() if name != "results/README.md"}
    assert "it lacks results/README.md" in why_refused(rewritten(tmp_path / "c", fewer, sums=False))


def test_a_forged_bundle_is_refused_although_its_checksums_fit(bundle, tmp_path):
    files = files_of(bundle)
    path = tmp_path / "forged"
    assert "order" in why_refused(rewritten(path, dict(reversed(files.items()))))
    assert "bundle.json" in why_refused(rewritten(path, {**files, "bundle.json": b'{"format": 2}'}))
    both = dict(sorted({**files, "results/README.md/a": b""}.items()))
    assert "results/README.md is a file and a folder" in why_refused(rewritten(path, both))


@pytest.mark.parametrize(
    "content", [b"", b"hello", bytes(1024), bytes(4096)], ids=["empty", "text", "an end", "zeros"]
)
def test_something_else_is_no_bundle(tmp_path, content):
    (tmp_path / "b").write_bytes(content)
    assert why_refused(tmp_path / "b")


def test_a_file_that_is_not_there_is_three_lines(tmp_path):
    assert "No such file" in why_refused(tmp_path / "nowhere.tar")


def test_too_many_files_are_refused_before_anything_is_written(tmp_path):
    many = {f"results/{number}": b"" for number in range(MOST_ENTRIES)}
    with pytest.raises(UsageError, match="do not fit"):
        write_bundle(tmp_path / "b", name="a", records=1, files=many, images=None)
    assert list(tmp_path.iterdir()) == []


def test_an_image_of_more_than_one_layer_is_written_once_for_all_images_that_share_it(bundle, saved):
    names = [name for name in files_of(bundle) if name.startswith("layers/")]
    assert len(names) == len(saved.layers)
