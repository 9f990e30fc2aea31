"""Two streams of bytes, cut into lines and bounded, however they arrive."""

from hypothesis import given
from hypothesis import strategies as st

from runner.executors.watch import (
    KEPT_STDERR_BYTES,
    MOST_STDERR_BYTES,
    MOST_STDOUT_BYTES,
    StderrTail,
    StdoutLines,
    Streams,
)
from runner.records.failure import FailureKind


def lines_of(chunks) -> list[str]:
    seen: list[str] = []
    lines = StdoutLines(lambda line, _: seen.append(line))
    for chunk in chunks:
        lines.feed(chunk)
    lines.close(whole=True)
    return seen


@given(data=st.data(), text=st.text(max_size=200))
def test_however_the_bytes_arrive_the_lines_are_those_of_the_whole(data, text):
    raw = text.encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=8)))
    chunks = [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    *whole, last = text.split("\n")
    assert lines_of(chunks) == [*whole, *([last] if last else [])]


@given(raw=st.binary(max_size=200))
def test_bytes_that_are_no_text_show_as_such_and_stop_nothing(raw):
    joined = "\n".join(lines_of([raw]))
    try:
        assert joined == raw.decode().removesuffix("\n")
    except UnicodeDecodeError:
        assert "\ufffd" in joined


def test_after_the_allowed_bytes_nothing_is_handed_on_and_nothing_kept():
    seen: list[str] = []
    lines = StdoutLines(lambda line, _: seen.append(line))
    for _ in range(MOST_STDOUT_BYTES // 2**20):
        lines.feed(bytes(2**20))
    assert not lines.overflowed
    lines.feed(b"\nlate\n")
    assert lines.overflowed
    lines.close(whole=True)
    assert seen == []


def test_a_stream_that_is_given_up_hands_nothing_on_to_whoever_has_judged_it():
    seen: list[str] = []
    lines = StdoutLines(lambda line, _: seen.append(line))
    lines.feed(b"one\ntwo")
    lines.close(whole=False)
    lines.feed(b" and more\nthree\n")
    assert seen == ["one"]


@given(st.lists(st.binary(max_size=50), max_size=20))
def test_a_short_log_is_kept_whole(chunks):
    tail = StderrTail()
    for chunk in chunks:
        tail.feed(chunk)
    assert tail.text() == b"".join(chunks).decode("utf-8", errors="replace")


def test_of_a_long_log_the_end_is_kept_and_the_loss_is_said():
    tail = StderrTail()
    for number in range(5):
        tail.feed(bytes(f"{number}", "ascii") * KEPT_STDERR_BYTES)
    text = tail.text()
    assert text == f"[the first {4 * KEPT_STDERR_BYTES} bytes were not kept]\n" + "4" * KEPT_STDERR_BYTES


def test_too_much_on_either_stream_is_named():
    out, err = Streams(lambda *_: None), Streams(lambda *_: None)
    for _ in range(MOST_STDOUT_BYTES // 2**20 + 1):
        out.feed(bytes(2**20), None)
    for _ in range(MOST_STDERR_BYTES // 2**20 + 1):
        err.feed(None, bytes(2**20))
    assert (out.failure.kind, err.failure.kind) == (FailureKind.TOO_MUCH_OUTPUT,) * 2
    assert "64 MiB on stdout" in out.failure.detail
    assert "256 MiB on stderr" in err.failure.detail
    assert Streams(lambda *_: None).failure is None
