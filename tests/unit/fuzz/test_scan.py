"""The scanner for secrets finds each kind of thing that it looks for, wherever it was put."""

import base64
import gzip
import io
import json
import os
import secrets
import string
import tarfile
from pathlib import Path

import pytest

from tests.scan.archive import Scanned, scan_archive
from tests.scan.host import private_values
from tests.scan.rules import LARGEST_TEXT, Expected, Scanner

ALPHABET = string.ascii_letters + string.digits
# Put together here, so that no scanner of sources takes this file for a leak.
BODY = base64.b64encode(bytes(range(200))).decode()


def token(length: int, alphabet: str = ALPHABET) -> str:
    return "".join(secrets.choice(alphabet) for _ in range(length))


PLANTED = {
    "private key": f"-----BEGIN RSA {'PRIVATE'} KEY-----\n{BODY}\n",
    "certificate": f"-----BEGIN {'CERTIFICATE'}-----\n{BODY}\n",
    "AWS key": "AKIA" + token(16, string.ascii_uppercase + "234567"),
    "GitHub token": "ghp_" + token(36),
    "GitLab token": "glpat-" + token(20),
    "Slack token": "xoxb-" + token(24),
    "Google key": "AIza" + token(35),
    "PyPI token": "pypi-AgE" + token(60),
    "JSON web token": f"eyJhbGciOi{token(20)}.{token(30)}.{token(20)}",
    "password in an address": f"https://alice:{token(12)}@mirror.invalid/simple",
    "password or token": f"DB_PASSWORD = 'abc1{token(12)}'",
    "host": "buildhost-17.corp.invalid",
}
PRIVATE = [("host", b"buildhost-17.corp.invalid"), ("path of the checkout", b"/home/alice/forge-bench")]


def names(text: bytes, *, ours: bool = True) -> set[str]:
    return {each.rule for each in Scanner(PRIVATE).content("/x", iter([text]), ours=ours)}


@pytest.mark.parametrize("rule", PLANTED)
@pytest.mark.parametrize("around", ["{}", "x = '{}'\n", '{{"a": "{}"}}', "line\n{}\nline", "\t{} # x"])
def test_each_kind_is_found_in_text(rule: str, around: str) -> None:
    assert names(around.format(PLANTED[rule]).encode()) == {rule}


@pytest.mark.parametrize("rule", [rule for rule in PLANTED if not rule.startswith("password")])
def test_each_kind_is_found_in_a_program_across_the_ends_of_blocks(rule: str) -> None:
    secret = PLANTED[rule].encode()
    data = os.urandom(5000) + b"\0" + secret + b"\0" + os.urandom(5000)
    for cut in (1, 5003, 5001 + len(secret) // 2, 5001 + len(secret) - 1):
        found = Scanner(PRIVATE).content("/usr/bin/x", iter([data[:cut], data[cut:]]))
        assert {each.rule for each in found} == {rule}


def test_key_in_a_string_literal_is_found() -> None:
    assert names(repr(PLANTED["private key"]).encode()) == {"private key"}


@pytest.mark.parametrize(
    "text",
    [
        'PEM_HEADER = "-----BEGIN CERTIFICATE-----"',
        "-----BEGIN PRIVATE KEY-----\n...\n",
        "def login(password=None, token=''):",
        "password = getpass()",
        "xoxo-love and ghp_short and AKIA-TEAM",
        "https://github.com/a/b and git@github.com:a/b",
        "secret: true",
    ],
)
def test_what_only_speaks_of_secrets_is_none(text: str) -> None:
    assert names(text.encode()) == set()


def test_no_finding_shows_the_secret() -> None:
    for secret in PLANTED.values():
        for found in Scanner(PRIVATE).content("/x", iter([secret.encode()]), ours=True):
            assert secret not in str(found)
            assert len(found.excerpt) <= 13


@pytest.mark.parametrize(
    "path",
    [
        "/home/x/.netrc", "/root/.pypirc", "/etc/pip.conf", "/opt/server.key", "/opt/ca.crt", "/a/bundle.pem",
        "/root/.ssh/config", "/root/.aws/config", "/root/.cargo/config.toml", "/root/.docker/config.json",
        "/etc/apt/sources.list.d/mirror.sources", "/run/secrets/ca", "/etc/ssl/certs/x", "/x/id_ed25519", "/x/.env",
        "/etc/hostname", "/usr/local/share/ca-certificates/corp.crt", "/x/.git-credentials",
    ],
)  # fmt: skip
def test_private_files_are_known_by_their_names(path: str) -> None:
    assert [each.rule for each in Scanner().name(path)] == ["private file"]


@pytest.mark.parametrize(
    "path", ["/usr/lib/python3.13/ssl.py", "/opt/forge-bench/matrix.yaml", "/etc/passwd"]
)
def test_ordinary_files_are_not(path: str) -> None:
    assert not list(Scanner().name(path))


def test_what_is_expected_is_left_out_there_and_nowhere_else() -> None:
    scanner = Scanner(expected=[Expected("/lib/known.py", "AWS key", "its own test data")])
    text = PLANTED["AWS key"].encode()
    assert not list(scanner.content("/lib/known.py", iter([text])))
    assert list(scanner.content("/lib/other.py", iter([text])))
    assert list(scanner.content("/lib/known.py", iter([PLANTED["Slack token"].encode()])))


# --- archives -------------------------------------------------------------------------------------------------------


def tar(files: dict[str, bytes], links: dict[str, str] | None = None, *, owner: str = "") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.uname = len(content), owner
            archive.addfile(entry, io.BytesIO(content))
        for name, target in (links or {}).items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    return buffer.getvalue()


def saved(*layers: bytes, config: object = None) -> Scanned:
    """What `docker save` writes, in both of its forms at once."""
    files = {f"{index}/layer.tar": layer for index, layer in enumerate(layers)}
    files["blobs/sha256/config"] = json.dumps(config or {"Env": ["PATH=/usr/bin"]}).encode()
    files["manifest.json"] = b"[]"
    return scan_archive(io.BytesIO(tar(files)), Scanner(PRIVATE))


def test_a_clean_image_is_clean_and_counted() -> None:
    scanned = saved(tar({"usr/bin/x": b"\0" * 100_000}), tar({"opt/a.py": b"import os\n"}))
    assert (scanned.layers, scanned.files, scanned.bytes, scanned.findings) == (2, 2, 100_010, ())


@pytest.mark.parametrize("rule", PLANTED)
@pytest.mark.parametrize("packed", [False, True])
def test_each_kind_is_found_in_a_layer_packed_or_not(rule: str, packed: bool) -> None:
    layer = tar({"usr/share/doc": b"x", "opt/forge-bench/runner/x.py": PLANTED[rule].encode()})
    scanned = saved(gzip.compress(layer) if packed else layer)
    assert {(each.path, each.rule) for each in scanned.findings} == {("/opt/forge-bench/runner/x.py", rule)}


def test_a_file_that_a_later_layer_removes_is_still_in_the_image() -> None:
    scanned = saved(tar({"root/.netrc": b"machine x"}), tar({"root/.wh..netrc": b""}))
    assert [each.path for each in scanned.findings] == ["/root/.netrc"]


def test_configuration_labels_history_links_and_owners_are_looked_at() -> None:
    assert saved(config={"Env": [f"PIP_INDEX_URL={PLANTED['password in an address']}"]}).findings
    assert saved(config={"Labels": {"builder": PLANTED["host"]}}).findings
    assert saved(config={"history": [{"created_by": f"RUN curl {PLANTED['host']}"}]}).findings
    assert saved(config={"Env": [PLANTED["password or token"].replace(" = ", "=")]}).findings
    assert saved(tar({}, {"usr/bin/python": "/home/alice/forge-bench/.venv/bin/python"})).findings
    assert saved(tar({"home/alice/forge-bench/x": b""})).findings
    assert saved(tar({"x": b""}, owner="buildhost-17.corp.invalid")).findings


def test_a_large_program_is_not_text_and_a_large_text_is_searched_for_what_is_certain() -> None:
    text = b"# " + b"x" * (LARGEST_TEXT + 1) + PLANTED["AWS key"].encode()
    assert names(text, ours=False) == set()
    assert names(text.replace(b"xAKIA", b" AKIA"), ours=False) == {"AWS key"}


# --- the host -------------------------------------------------------------------------------------------------------


@pytest.fixture
def authority(tmp_path: Path) -> tuple[Path, bytes]:
    """A certificate of one's own, as a bundle, and in binary."""
    pem, der = tmp_path / "bundle.pem", os.urandom(917)
    lines = base64.encodebytes(der).decode().replace("\n", "")
    body = "\n".join(lines[at : at + 64] for at in range(0, len(lines), 64))
    pem.write_text(
        f"# Corp Root\n-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n", encoding="ascii"
    )
    return pem, der


def test_what_the_host_trusts_beside_its_distribution_is_known_in_every_form(
    authority: tuple[Path, bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pem, der = authority
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    scanner = Scanner(private_values(tmp_path))
    for content in (
        pem.read_bytes(),
        der,
        b"\0" * 99 + der + b"\0",
        pem.read_text().replace("\n", "\\n").encode(),
    ):
        rules = {each.rule for each in scanner.content("/x", iter([content]))}
        assert "certificate of the host" in rules


@pytest.mark.parametrize(
    ("variable", "value", "private"),
    [
        ("HTTPS_PROXY", "http://alice:pw@proxy.corp.invalid:3128", b"proxy.corp.invalid"),
        ("PIP_INDEX_URL", "https://mirror.corp.invalid/simple", b"mirror.corp.invalid"),
        ("CARGO_REGISTRIES_CORP_INDEX", "sparse+https://crates.corp.invalid/index/", b"crates.corp.invalid"),
        ("PIP_INDEX_URL", "https://pypi.org/simple", None),
        ("SOME_URL", "http://127.0.0.1:8080/", None),
    ],
)
def test_addresses_that_only_this_host_asks_are_private_and_everybodys_are_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str, value: str, private: bytes | None
) -> None:
    monkeypatch.setenv(variable, value)
    found = [each for name, each in private_values(tmp_path) if name == f"address in ${variable}"]
    assert found == ([private] if private else [])


def test_the_checkout_and_the_home_are_private(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", "/home/alice")
    values = dict(private_values(tmp_path))
    assert values["path of the checkout"] == str(tmp_path).encode()
    assert values["home directory"] == b"/home/alice"
    monkeypatch.setenv("HOME", "/root")
    assert "home directory" not in dict(private_values(tmp_path)), "every image has that one"
    assert "path of the checkout" not in dict(private_values(Path("/src"))), (
        "half of all images have that one"
    )
