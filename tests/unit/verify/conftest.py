"""What the tests of a verification share."""

import pytest

from runner.system import machine


@pytest.fixture(autouse=True)
def quiet(monkeypatch) -> None:
    """A machine without other work. On a loaded one no time differs."""
    state = {**machine.state(), "load_1m": 0.0, "cpu_pressure_avg10": 0.0}
    monkeypatch.setattr(machine, "state", lambda: dict(state))
