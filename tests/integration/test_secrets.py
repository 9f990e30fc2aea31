"""No secret, no certificate and no path of a host is in any layer, any record or any log."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import FOREIGN, HOST, PEERS, ROOT, Result, docker

from tests.scan.archive import Scanned, scan_images
from tests.scan.host import private_values
from tests.scan.rules import Expected, Scanner

_EXAMPLE = "an example address in a library's documentation or own tests"
EXPECTED = (
    *(
        Expected(f"/usr/lib/python3/dist-packages/{path}", "password in an address", _EXAMPLE)
        for path in (
            "fsspec/implementations/github.py",
            "fsspec/implementations/smb.py",
            "fsspec/tests/test_utils.py",
            "fsspec/utils.py",
            "urllib3/util/url.py",
        )
    ),
    *(
        Expected(f"/opt/forge-bench/site-packages/{path}", "password in an address", _EXAMPLE)
        for path in (
            "fsspec/implementations/gist.py",
            "fsspec/implementations/github.py",
            "fsspec/implementations/smb.py",
            "fsspec/utils.py",
            "httpx2/_urls.py",
            "pandas/tests/io/formats/style/test_html.py",
            "pandas/tests/io/test_sql.py",
        )
    ),
)


@pytest.fixture(scope="module")
def scanned(images: None) -> Scanned:
    """All layers of the images that ship, in one pass: they share most."""
    del images
    names = (f"forge-bench:{HOST}", f"forge-bench:{FOREIGN}", PEERS)
    return scan_images(names, Scanner(private_values(ROOT), EXPECTED))


def test_no_layer_holds_a_secret_a_certificate_or_anything_of_this_host(scanned: Scanned) -> None:
    assert not scanned.findings, "\n".join(map(str, scanned.findings[:50]))


def test_the_scan_really_went_through_the_layers(scanned: Scanned) -> None:
    """A format of archives that nobody knew would be an empty scan, and that finds nothing."""
    assert scanned.layers >= 6
    assert scanned.files > 10_000
    assert scanned.bytes > 10**9


def test_no_step_of_a_build_and_no_variable_names_this_host(images: None) -> None:
    del images
    scanner = Scanner(private_values(ROOT))
    for name in (f"forge-bench:{HOST}", f"forge-bench:{FOREIGN}", PEERS):
        history = docker("history", "--no-trunc", "--format", "{{.CreatedBy}} {{.Comment}}", name)
        whole = docker(
            "image", "inspect", "--format", "{{json .Config}} {{json .Comment}} {{json .Author}}", name
        )
        for result in (history, whole):
            assert result.returncode == 0, result.stderr
            assert len(result.stdout) > 100
            found = list(scanner.content(name, iter([result.stdout.encode()]), ours=True))
            assert not found, found


def test_no_record_no_log_and_no_table_tells_whose_host_it_was(smoke: tuple[Path, Result]) -> None:
    results, outcome = smoke
    private = private_values(ROOT)
    scanner = Scanner([*private, ("results directory", str(results).encode())])
    files = [path for path in results.rglob("*") if path.is_file()]
    assert any(path.parts[-3:-1] == ("records", "gae") for path in files)
    assert any(path.suffix == ".md" for path in files)
    for path in files:
        name = f"/{path.relative_to(results)}"
        with path.open("rb") as file:
            found = list(scanner.content(name, iter(lambda file=file: file.read(2**22), b""), ours=True))
        assert not found, found
    # What goes to the screen names the results directory, as it should; nothing else of the host.
    assert not list(Scanner(private[1:]).content("stderr", iter([outcome.stderr.encode()])))


def test_a_record_knows_the_machine_and_not_its_name(smoke: tuple[Path, Result]) -> None:
    results, _ = smoke
    names = {socket.gethostname(), socket.getfqdn()} - {"", "localhost"}
    records = list((results / "records").glob("*/*.json"))
    assert records
    for path in records:
        record = json.loads(path.read_bytes())
        assert record["machine"]["logical_cpus"]
        assert not names & set(_texts(record)), path


def _texts(value: Any) -> Iterator[str]:
    """Every text in plain data, and every name of a field."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
