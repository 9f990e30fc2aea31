"""One call of the runner as a child process, with what it said and when."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from runner.system.owner import Owner
from tests.interruption.matrix import ARCHITECTURE, ROOT

# Nothing here takes longer; a call that does hangs, which is a violation too.
LONGEST_SECONDS = 240.0

BEGUN = re.compile(r"launches to run")
FINISHED = re.compile(r"^\[\d+/\d+\] ")
ENDED = re.compile(r"\d+ cells run, ")


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What a call is given besides its matrix."""

    matrix: Path
    executor: str
    results: Path
    temporary: Path
    docker_host: str | None = None


class Call:
    """A started call of ``python -m runner``."""

    def __init__(self, around: Surroundings) -> None:
        around.temporary.mkdir(parents=True, exist_ok=True)
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, "TMPDIR": str(around.temporary), "PYTHONPATH": path}
        if around.docker_host is not None:
            environment["DOCKER_HOST"] = around.docker_host
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "runner", "run", "--matrix", str(around.matrix)),
                *("--results", str(around.results), "--executor", around.executor),
                *("--profile", "smoke", "--seeds", "1,2"),
                *(("--arch", ARCHITECTURE) if around.executor == "docker" else ()),
            ],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self.owner = Owner.of(self.process.pid)
        self.lines: list[tuple[float, str]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def seconds(self) -> float:
        """Since its start."""
        return time.monotonic() - self.started

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self.process.poll() is None

    def wait(self) -> int | None:
        """Its exit code (negative for a signal); None if it hung, in which case it is killed."""
        try:
            code = self.process.wait(timeout=LONGEST_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            return None
        # A child of it may have inherited the stream and live on: that is looked for elsewhere.
        self._reader.join(timeout=5)
        return code

    def said(self, pattern: "re.Pattern[str]") -> list[float]:
        """When lines of this form came, in seconds since its start."""
        return [seconds for seconds, line in list(self.lines) if pattern.search(line)]

    @property
    def text(self) -> str:
        """Everything that it said."""
        return "".join(line for _, line in list(self.lines))

    def _read(self) -> None:
        stream = self.process.stderr
        for line in stream or ():
            self.lines.append((self.seconds, line))
