"""What a process of the host says about the host does not get into a record or a log."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import small_matrix

from runner.cli.main import main
from runner.system import privacy
from runner.system.privacy import without_host

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _asked_anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if on a host of somebody with a name."""
    monkeypatch.setattr("socket.gethostname", lambda: "alice-laptop")
    monkeypatch.setattr(Path, "home", lambda: Path("/home/alice"))
    privacy._private.cache_clear()
    yield
    privacy._private.cache_clear()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f'File "{ROOT}/baselines/x.py", line 3', 'File "<checkout>/baselines/x.py", line 3'),
        (f"{ROOT}", "<checkout>"),
        ("/home/alice/.local/lib/python3", "~/.local/lib/python3"),
        ("/home/alicette/x and /srv/home/alice/y", "/home/alicette/x and /srv/home/alice/y"),
        ("cannot resolve alice-laptop: no answer", "cannot resolve <host>: no answer"),
        ("alice-laptop-2", "alice-laptop-2"),
        (
            "/opt/forge-bench/baselines/x.py and /root/.cache",
            "/opt/forge-bench/baselines/x.py and /root/.cache",
        ),
        ("nothing to hide\n", "nothing to hide\n"),
    ],
)
def test_directories_and_the_name_of_the_host_are_words(text: str, told: str) -> None:
    assert without_host(text) == told


def test_no_record_and_no_log_of_a_local_run_tells_whose_host_it_was(
    tmp_path: Path, write_matrix: Callable[[dict], Path]
) -> None:
    """An implementation that ends in a traceback, and one that prints rubbish, name every directory that they know."""
    places = f"{ROOT}/baselines/x.py /home/alice/x alice-laptop"
    crashing = [sys.executable, "-c", f"import sys; print({places!r}, file=sys.stderr); sys.exit(3)"]
    talking = [sys.executable, "-c", f"print({places!r})"]
    matrix = write_matrix(small_matrix(crashing=crashing, talking=talking))
    words = ["double", "--matrix", str(matrix), "--results", str(tmp_path / "r"), "--executor", "local"]
    assert main([*words, "--profile", "smoke"]) == 3
    records = [json.loads(path.read_bytes()) for path in (tmp_path / "r" / "records").glob("*/*.json")]
    failed = [record for record in records if record["failure"]]
    assert {record["cell"]["implementation"] for record in failed} == {"crashing", "talking"}
    for record in failed:
        # The command itself is the matrix's own: what is asked for is kept as it was.
        said = json.dumps({**record, "command": None, "work": None})
        for private in (str(ROOT), "/home/alice", "alice-laptop", str(tmp_path)):
            assert private not in said
    logs = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "r" / "logs").iterdir())
    assert "<checkout>/baselines/x.py ~/x <host>" in logs
