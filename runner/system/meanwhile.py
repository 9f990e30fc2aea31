"""A call that runs in a thread of its own while its caller goes on."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

_T = TypeVar("_T")


def meanwhile(call: Callable[[], _T]) -> "Future[_T]":
    """Begin a call. What it returns or raises comes out of the future's ``result``.

    Nobody has to wait for it: an interrupted caller leaves at once, and so does the process at its end.
    """
    future: Future[_T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 (raised again where the result is asked for)
            future.set_exception(error)

    threading.Thread(target=run, name="meanwhile", daemon=True).start()
    return future
