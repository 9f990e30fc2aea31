"""The directory through which a plan and its jobs talk: closed to others, whole, and held by one call at a time."""

import stat

import pytest
from example_records import make_record

from runner.fleet.spool import Answer, Spool, Submitted, refusal, spools, texts
from runner.records.store import Store
from runner.system.errors import NoSpace, StoreError

SECRET = b"nobody may know"
SUBMITTED = Submitted(plan="p-1", profile="smoke", matrix="/shared/matrix.yaml", executor="docker", tasks=())


@pytest.fixture
def spool(tmp_path) -> Spool:
    found = Spool(store=Store(tmp_path / "results"), plan="p-1")
    found.write(SUBMITTED, SECRET)
    return found


def test_what_is_written_is_read_and_nobody_else_can_read_the_secret(spool):
    assert spool.read() == SUBMITTED
    assert spool.secret() == SECRET
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (spool.root, spool.root / "secret")]
    assert modes == [0o700, 0o600]
    assert [each.plan for each in spools(spool.store)] == ["p-1"]


def test_an_answer_is_there_only_when_it_is_whole_and_its_records_are_checked(spool):
    assert spool.answered() == set()
    records = [make_record()]
    spool.answer(3, Answer(launch="l", node="n1", restarts=1, records=texts(records)))
    (spool.root / "answers" / ".part-x").write_text("half")
    assert spool.answered() == {3}
    assert spool.read_answer(3).read_records() == records


def test_a_record_that_was_altered_on_its_way_is_refused(spool):
    text = texts([make_record()])[0]
    assert '"profile": "' in text
    altered = text.replace('"profile": "', '"profile": "x', 1)
    spool.answer(0, Answer(launch="l", node="n1", restarts=0, records=(altered,)))
    with pytest.raises(StoreError, match="a record that n1 answered with is damaged"):
        spool.read_answer(0).read_records()


def test_bytes_that_are_no_answer_and_no_plan_are_an_error(spool):
    spool.answer(
        0, Answer(launch=None, node="n1", restarts=0, refused=refusal(NoSpace(what="a", why="b", fix="c")))
    )
    assert spool.read_answer(0).refused == ("NoSpace", "a: b")
    for name, read in (("answers/0.json", lambda: spool.read_answer(0)), ("plan.json", spool.read)):
        (spool.root / name).write_text("{}")
        with pytest.raises(StoreError, match="cannot be read"):
            read()


def test_a_plan_that_another_call_has_just_ended_is_not_followed(spool):
    with spool.followed():
        spool.remove()
    with spool.followed() as free:
        assert not free, "its folder is gone"
    spool.logs.mkdir(parents=True)
    with spool.followed() as free:
        assert not free, "its folder holds no plan"
    assert not spool.root.exists()


def test_one_call_follows_a_plan_and_another_is_told_so(spool):
    with spool.followed() as first, spool.followed() as second:
        assert (first, second) == (True, False)
    with spool.followed() as free:
        assert free


def test_a_removed_plan_keeps_its_lock_until_the_call_lets_go(spool):
    spool.answer(0, Answer(launch=None, node="n1", restarts=0))
    with spool.followed():
        spool.remove()
        # NFS has an entry for each open file, so no directory with one can be removed.
        assert [path.name for path in spool.root.iterdir()] == ["lock"]
        assert spools(spool.store) == []
    assert not spool.root.exists()
