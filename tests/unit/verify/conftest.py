"""What the tests of a verification share."""

import pytest

from runner.system import machine


@pytest.fixture(autouse=True)
def quiet(monkeypatch) -> None:
    """A machine without other work. On a loaded one no time differs."""
    pressure = dict.fromkeys(("cpu_pressure_avg10", "memory_pressure_avg10", "io_pressure_avg10"), 0.0)
    state = {**machine.state(), "busy_processors": 0.0, "load_1m": 0.0, **pressure}
    monkeypatch.setattr(machine, "state", lambda: dict(state))
