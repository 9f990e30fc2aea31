"""A call in a thread of its own: what it returns and what it raises arrive where its result is asked for."""

import threading

import pytest

from runner.system.meanwhile import meanwhile


def test_the_caller_goes_on_and_gets_the_result_when_it_asks() -> None:
    may_end = threading.Event()

    def call() -> int:
        assert may_end.wait(10)
        return 7

    future = meanwhile(call)
    assert not future.done()
    may_end.set()
    assert future.result(10) == 7


def test_an_error_is_raised_where_the_result_is_asked_for() -> None:
    def call() -> None:
        raise ConnectionError("it broke")

    with pytest.raises(ConnectionError, match="it broke"):
        meanwhile(call).result(10)
