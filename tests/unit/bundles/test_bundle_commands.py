"""``bundle`` and ``verify --bundle`` as a user calls them, where no container is needed."""

from pathlib import Path

import pytest
from verify.made import DOUBLER, Forge

from runner.bundles.write import write_bundle
from runner.cli.main import main
from runner.system.errors import DamagedBundle, ImageNotFound, NothingDecided, UsageError
from runner.system.plain_tar import Piece


@pytest.fixture
def forge(tmp_path, capsys) -> Forge:
    made = Forge.of(tmp_path, capsys)
    made.run("--profile", "smoke", other=DOUBLER)
    return made


@pytest.fixture
def bundle(forge: Forge, tmp_path: Path) -> Path:
    path = tmp_path / "results.tar"
    files = {
        f"results/{each.relative_to(forge.store.root)}": Piece.whole(each)
        for each in forge.store.record_files()
    }
    write_bundle(path, name="results", records=len(files), files=files, images=None)
    return path


def test_the_records_of_a_bundle_are_run_again(forge, bundle):
    where = ["--matrix", str(forge.directory / "matrix.yaml"), "--executor", "local"]
    code = main(["verify", "--bundle", str(bundle), *where])
    out, err = forge.read()
    assert code == NothingDecided.exit_code, err
    assert "is as it was written" in err
    assert "reproduced" in out


def test_a_changed_digit_in_a_bundle_is_named_and_nothing_is_started(forge, bundle):
    whole = bundle.read_bytes()
    place = whole.index(b'"started_at"')
    bundle.write_bytes(whole[:place] + b"X" + whole[place + 1 :])
    code = main(["verify", "--bundle", str(bundle), "--executor", "local"])
    out, err = forge.read()
    assert code == DamagedBundle.exit_code
    assert "results/records/double/" in err
    assert out == ""


@pytest.mark.parametrize("words", [[], ["a", "--bundle", "b"]])
def test_verify_takes_records_or_a_bundle(capsys, words):
    assert main(["verify", *words]) == UsageError.exit_code
    assert "--bundle" in capsys.readouterr().err


def test_results_of_a_bare_host_have_no_image_that_could_be_bundled(forge, tmp_path):
    assert (
        main(["bundle", str(forge.store.root), "--output", str(tmp_path / "b.tar")])
        == ImageNotFound.exit_code
    )
    assert "bare host" in forge.read()[1]
    assert not (tmp_path / "b.tar").exists()


def test_a_bundle_replaces_no_file(forge, bundle):
    before = bundle.read_bytes()
    assert main(["bundle", str(forge.store.root), "--output", str(bundle)]) == UsageError.exit_code
    assert bundle.read_bytes() == before


def test_a_folder_without_records_is_no_bundle(capsys, tmp_path):
    assert main(["bundle", str(tmp_path), "--output", str(tmp_path / "b.tar")]) == UsageError.exit_code
    assert "no record" in capsys.readouterr().err
