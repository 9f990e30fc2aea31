"""The store under every crash: a real process is killed at each step of each of its writes, and others read meanwhile."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from refitting import refitted

from examples import examples
from runner.records.record import Record, content_hash, is_intact, record_of
from runner.records.source import record_beginning
from runner.records.store import Store, newest_by_key
from runner.system.errors import DamagedRecord, NoSpace, StoreError
from runner.system.files import write_atomically
from runner.system.owner import Owner
from runner.verify.read import read_records

ROOT = Path(__file__).parents[3]
PUBLISHED = ROOT / "results/published/2026-11-21-quick"


@pytest.fixture(scope="module")
def dead() -> Owner:
    """A process that has been."""
    child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    owner = Owner.of(child.pid)
    child.communicate()
    return owner


@cache
def published_record() -> str:
    """A small one: others have whole trainings' episodes in them."""
    return json.dumps(record_beginning(read_records(PUBLISHED), "20261121T134445Z-180decf4daecae04").plain())


def a_record(number: int, padding: str = "") -> Record:
    """A valid record of a name of its own."""
    data = json.loads(published_record())
    data["key"] = content_hash(number)
    data["launch"]["started_at"] = f"2026-01-01T00:00:00.{number:06d}+00:00"
    data["launch"]["stderr_tail"] = padding
    return record_of(refitted(data))


def made_again(record: Record, minute: int) -> Record:
    """Another record of the same key, made in that minute."""
    data = record.plain()
    del data["content_sha256"]
    data["launch"]["started_at"] = f"2026-01-01T00:{minute:02d}:00+00:00"
    data["created_at"] = f"2026-01-01T00:{minute:02d}:30+00:00"
    return record_of(refitted(data))


def is_system_call(event: str, function: object) -> bool:
    """Whether a profiler's event is a call into the operating system, as far as Python makes one."""
    if event != "c_call":
        return False
    owner = getattr(function, "__self__", None)
    return getattr(owner, "__name__", None) == "posix" or type(owner).__module__ == "_io"


def killed_at_step(step: int, act: Callable[[], object]) -> bool:
    """Do ``act`` in a child that is killed right before its ``step``-th system call; False if it needs fewer."""
    pid = os.fork()
    if pid == 0:
        left = step

        def count(_frame, event, function) -> None:
            nonlocal left
            left -= is_system_call(event, function)
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        code = 1
        try:
            sys.setprofile(count)
            act()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return True
    assert os.waitstatus_to_exitcode(status) == 0
    return False


def crashes(act: Callable[[], object], check: Callable[[], None]) -> int:
    """Kill ``act`` at every single step in turn, and look each time at what it left; returns how many steps."""
    step = 1
    while killed_at_step(step, act):
        check()
        step += 1
    check()
    return step


def identifiers(store: Store) -> list[str]:
    return [record.identifier for record in store.records()]


def parts(store: Store) -> list[Path]:
    return list(store.root.rglob(".part-*"))


def test_a_record_is_whole_or_not_there_whenever_its_writer_is_killed(tmp_path):
    store = Store(tmp_path)
    store.add(a_record(0))
    seen = []

    def check() -> None:
        seen.append(identifiers(store))
        assert seen[-1][0] == a_record(0).identifier
        # What the next crash begins with is what a new runner would find.
        for path in store.records_directory.glob(f"*/{a_record(1).identifier}.json"):
            path.unlink()

    steps = crashes(lambda: store.add(a_record(1)), check)
    assert steps > 10
    assert [len(found) for found in seen] == sorted(len(found) for found in seen), "there, then gone again"
    assert len(seen[0]) == 1
    assert len(seen[-1]) == 2


def test_what_killed_writers_left_is_removed_by_a_later_runner_and_nothing_else(tmp_path):
    store = Store(tmp_path)
    crashes(lambda: store.add(a_record(1)), lambda: None)
    left = parts(store)
    assert left
    assert set(store.sweep()) == set(left)
    assert parts(store) == []
    assert identifiers(store) == [a_record(1).identifier]
    assert store.sweep() == ()


def test_kept_files_are_complete_or_not_there_whenever_their_writer_is_killed(tmp_path):
    source = tmp_path / "source"
    for name in ("a/x.npy", "b/y.npy", "b/z.npy"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes(os.urandom(100_000))
    store = Store(tmp_path / "store")
    whole = {path.name: path.read_bytes() for path in source.rglob("*.npy")}
    outcomes = set()

    def check() -> None:
        kept = store.files("references", "0" * 64)
        outcomes.add(kept is not None)
        if kept is not None:
            assert {path.name: path.read_bytes() for path in kept.rglob("*") if path.is_file()} == whole
            # To the next crash everything must look as it did before the first.
            for path in sorted(kept.rglob("*"), reverse=True):
                path.rmdir() if path.is_dir() else path.unlink()
            kept.rmdir()

    crashes(lambda: store.save_files("references", "0" * 64, source), check)
    assert outcomes == {True, False}
    store.sweep()
    assert parts(store) == []


def test_a_page_is_the_old_one_or_the_new_one_whenever_its_writer_is_killed(tmp_path):
    page = tmp_path / "page.md"
    seen = set()

    def check() -> None:
        seen.add(page.read_text())
        page.write_text("old")

    page.write_text("old")
    crashes(lambda: write_atomically(page, "new" * 10_000), check)
    assert seen == {"old", "new" * 10_000}


ADD, CRASH, READ, SWEEP = "add", "crash", "read", "sweep"
ACTIONS = st.lists(
    st.one_of(
        st.just((ADD, 0)),
        st.tuples(st.just(CRASH), st.integers(1, 40)),
        st.just((READ, 0)),
        st.just((SWEEP, 0)),
    ),
    max_size=25,
)


@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=ACTIONS)
def test_through_any_sequence_of_writes_crashes_and_reads_no_record_is_lost_or_half(
    tmp_path_factory, actions
):
    store = Store(tmp_path_factory.mktemp("store"))
    certain: list[str] = []
    possible: set[str] = set()
    for number, (action, step) in enumerate(actions):
        record = a_record(number)
        if action == ADD:
            store.add(record)
            certain.append(record.identifier)
        elif action == CRASH:
            (
                possible.add
                if killed_at_step(step, lambda record=record: store.add(record))
                else certain.append
            )(record.identifier)
        elif action == SWEEP:
            store.sweep()
            assert parts(store) == []
        found = identifiers(store)
        assert set(certain) <= set(found) <= {*certain, *possible}
        assert len(found) == len(set(found))
        # A record that was once read is there for good.
        certain += [each for each in found if each not in certain]


def test_writers_that_are_killed_at_random_never_show_a_reader_half_a_record(tmp_path):
    """No step is chosen here: the kernel interrupts where it does, inside a system call too."""
    store = Store(tmp_path)
    program = (
        "import sys; sys.path[:0] = [*sys.argv[1:3], sys.argv[2] + '/tests/unit']\n"
        "from test_store import Store, a_record\nfrom pathlib import Path\n"
        "store, first = Store(Path(sys.argv[3])), int(sys.argv[4])\n"
        "print('ready', flush=True)\n"
        "for number in range(first, first + 10_000): store.add(a_record(number, 'x' * 300_000))\n"
    )
    seen: set[str] = set()
    for turn in range(4):
        arguments = [str(Path(__file__).parent), str(ROOT), str(tmp_path), str(turn * 10_000)]
        writer = subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        writer.stdout.readline()
        target = len(seen) + 5
        while len(seen) < target:
            assert writer.poll() is None, (
                f"the writer ended with {writer.returncode} after {len(seen)} records"
            )
            found = set(identifiers(store))
            assert seen <= found
            seen = found
        writer.kill()
        writer.communicate()
        assert seen <= set(identifiers(store))
    left = parts(store)
    assert set(store.sweep()) == set(left)
    assert seen <= set(identifiers(store))


def limited_to(size: int, act: Callable[[], object]) -> bytes:
    """What ``act`` raised in a child that can write files of at most ``size`` bytes, by name; empty for nothing."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        try:
            act()
        except BaseException as error:  # noqa: BLE001 (its name is the result)
            os.write(writing, type(error).__name__.encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        name = pipe.read()
    os.waitpid(pid, 0)
    return name


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 8191])
def test_a_write_that_the_callers_limit_cuts_off_leaves_nothing_and_says_so(tmp_path, size):
    store = Store(tmp_path)
    assert limited_to(size, lambda: store.add(a_record(0, "x" * 20_000))) == b"HostLimited"
    source = tmp_path / "source"
    source.mkdir()
    (source / "x").write_bytes(bytes(20_000))
    assert limited_to(size, lambda: store.save_files("inputs", "k", source)) == b"HostLimited"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [source / "x"]
    assert store.files("inputs", "k") is None


@pytest.mark.skipif(os.geteuid() != 0, reason="a small file system can only be mounted by root")
def test_a_full_disk_is_said_to_be_full_and_keeps_what_was_stored(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "forge-bench-test", disk], check=True)
    try:
        store = Store(disk)
        stored = []
        with pytest.raises(NoSpace):  # noqa: PT012 (which of them is the last is the disk's business)
            for number in range(1000):
                store.add(a_record(number, "x" * 50_000))
                stored.append(a_record(number).identifier)
        assert len(stored) > 5
        assert identifiers(store) == stored
        assert parts(store) == []
        with pytest.raises(NoSpace):
            store.save_files("references", "k", PUBLISHED)
        assert parts(store) == []
        assert store.files("references", "k") is None
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)


def test_a_record_never_takes_the_place_of_another(tmp_path):
    store = Store(tmp_path)
    first = a_record(0)
    store.add(first)
    store.add(first)
    with pytest.raises(StoreError, match="another record"):
        store.add(a_record(0, padding="something else"))
    assert store.records() == [first]


def test_of_the_records_of_one_key_the_newest_counts_whichever_was_stored_first(tmp_path):
    old, new = (made_again(a_record(0), minute) for minute in (1, 2))
    other = a_record(3)
    for turn, written in enumerate(((old, other, new), (new, old, other))):
        store = Store(tmp_path / str(turn))
        for record in written:
            store.add(record)
        assert newest_by_key(store.records()) == {new.key: new, other.key: other}


def test_two_runners_may_keep_the_same_files_at_once(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "x").write_bytes(bytes(1000))
    store = Store(tmp_path / "store")
    others = []
    for _ in range(8):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                code = int(not store.save_files("inputs", "k", source).is_dir())
            finally:
                os._exit(code)
        others.append(pid)
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in others] == [0] * 8
    kept = store.files("inputs", "k")
    assert kept is not None
    assert [path.name for path in kept.iterdir()] == ["x"]
    assert parts(store) == []


def test_a_record_that_was_cut_off_or_altered_is_found_and_named(tmp_path):
    store = Store(tmp_path)
    store.add(a_record(0))
    (path,) = store.records_directory.glob("*/*.json")
    text = path.read_text()
    for bent in (text[: len(text) // 2], " ", text.replace('"seed": ', '"seed": 1'), "[]", "{}"):
        path.write_text(bent)
        with pytest.raises(DamagedRecord, match=str(path)):
            store.records()


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (r'("schema": )', r"\g<1>1, \1", "holds one key twice"),
        (r'("wall_seconds": \d+\.\d+)', r"\g<1>0", "the number .* is not written as it was sealed"),
    ],
)
def test_a_file_that_says_two_things_or_writes_a_number_anew_is_damaged_though_its_hash_is_right(
    tmp_path, old, new, why
):
    store = Store(tmp_path)
    store.add(a_record(0))
    (path,) = store.records_directory.glob("*/*.json")
    text, count = re.subn(old, new, path.read_text(), count=1)
    assert count == 1
    path.write_text(text)
    assert is_intact(json.loads(path.read_text()))
    with pytest.raises(DamagedRecord, match=why):
        store.records()
    assert store.damaged() == (path,)


def aged(path: Path, seconds: float) -> Path:
    now = path.stat().st_mtime
    os.utime(path, (now - seconds, now - seconds))
    return path


def test_only_what_surely_nobody_writes_any_more_is_swept(tmp_path, dead):
    records = tmp_path / "records" / "gae"
    records.mkdir(parents=True)

    def part(owner: object, age: float = 0) -> Path:
        path = records / f".part-{owner}-{len(list(records.iterdir()))}"
        path.write_text("{")
        return aged(path, age)

    here = Owner.current()
    elsewhere = Owner("0" * 12, here.namespace, 1, "1")
    gone, old = {part(dead), part(elsewhere, 100_000), part("abc", 100_000)}, 80_000
    kept = {
        part(here),
        part(here, 100_000),
        part(elsewhere),
        part(elsewhere, old),
        part("abc"),
        part("abc", old),
    }
    assert set(Store(tmp_path).sweep()) == gone
    assert set(records.iterdir()) == kept


def test_a_sweep_follows_no_link_and_creates_nothing(tmp_path, dead):
    store = Store(tmp_path / "store")
    assert store.sweep() == ()
    assert not store.root.exists()
    treasure = tmp_path / "treasure"
    treasure.mkdir()
    (treasure / "gold").write_text("")
    (store.root / "inputs").mkdir(parents=True)
    (store.root / "inputs" / f".part-{dead}-x").symlink_to(treasure)
    store.sweep()
    assert list((store.root / "inputs").iterdir()) == []
    assert (treasure / "gold").exists()


def test_an_interrupted_write_leaves_nothing(tmp_path):
    """Ctrl-C between any two steps: in this process, so that what has to tidy up does."""
    store = Store(tmp_path)
    store.add(a_record(0))
    reached_the_end = False
    step = 0
    while not reached_the_end:
        step += 1
        left = step

        def count(_frame, event, function) -> None:
            nonlocal left
            left -= is_system_call(event, function)
            if left == 0:
                sys.setprofile(None)
                raise KeyboardInterrupt

        try:
            sys.setprofile(count)
            store.add(a_record(step))
            reached_the_end = True
        except KeyboardInterrupt:
            pass
        finally:
            sys.setprofile(None)
        assert a_record(0).identifier in identifiers(store)
    assert step > 10
    # The one instant that nothing can guard: the file is there and its name is not yet known to us.
    assert len(parts(store)) <= 2
