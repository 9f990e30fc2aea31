"""A Slurm fleet of the tests' own: two nodes on this machine, whose controller, nodes and munge the tests start."""

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import psutil

WHY_NOT = "a fleet of the tests' own needs root and apt for Debian's Slurm"
NODES = ("n1", "n2")
_PACKAGES = ("slurmctld", "slurmd", "slurm-client", "munge")
_PATIENCE = 60

_CONFIGURATION = """
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
AuthType=auth/munge
AuthInfo=socket={directory}/munge/socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/%n
SlurmctldPidFile={directory}/controller.pid
SlurmdPidFile={directory}/%n.pid
SlurmctldLogFile={directory}/controller.log
SlurmdLogFile={directory}/%n.log
# Neither a control group nor systemd is needed for these.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
PluginDir={plugins}
SchedulerParameters=batch_sched_delay=0,sched_interval=2
MpiDefault=none
ReturnToService=2
MinJobAge=600
KillWait=10
SlurmdTimeout=10
MessageTimeout=30
JobCompType=jobcomp/none
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs={cpus} RealMemory=16000 Feature=like
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs={cpus} RealMemory=16000 Feature=like
PartitionName=bench Nodes=ALL Default=YES State=UP PriorityTier=1
PartitionName=urgent Nodes=ALL State=UP PriorityTier=2
"""


def possible() -> bool:
    """Whether such a fleet can be had here."""
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


class OwnFleet:
    """One fleet. Both nodes are this machine, so they share its files."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._root = directory / "root"
        self._configuration = directory / "slurm.conf"
        self._host = socket.gethostname().partition(".")[0]

    @property
    def environment(self) -> Mapping[str, str]:
        """What a program needs to speak to this fleet."""
        programs = [self._root / "usr/bin", self._root / "usr/sbin"]
        return {
            **os.environ,
            "SLURM_CONF": str(self._configuration),
            "PATH": ":".join([*map(str, programs), os.environ["PATH"]]),
            "LD_LIBRARY_PATH": f"{self._libraries}:{self._libraries / 'slurm-wlm'}",
        }

    def start(self) -> None:
        """Start munge, the controller and both nodes; return when the nodes are ready."""
        self._unpack()
        ports = _free_ports(3)
        self._configuration.write_text(
            _CONFIGURATION.format(
                host=self._host,
                directory=self.directory,
                plugins=self._libraries / "slurm-wlm",
                ports=ports,
                cpus=os.cpu_count(),
            )
        )
        for name in ("state", "munge", *NODES):
            (self.directory / name).mkdir()
        munge, key = self.directory / "munge", self.directory / "munge/key"
        # Others may reach munge's socket through its directory; they cannot read the key.
        for path in (self.directory, munge):
            path.chmod(0o755)
        key.touch(0o400)
        key.write_bytes(secrets.token_bytes(1024))
        self.call(
            "munged", f"--key-file={key}", f"--socket={munge}/socket", f"--pid-file={self.directory}/munge.pid",
            f"--log-file={munge}/log", f"--seed-file={munge}/seed", "--force",
        )  # fmt: skip
        self.call("slurmctld-wlm", "-f", str(self._configuration))
        for name in NODES:
            self.start_node(name)
        self.wait_for(lambda: set(self.call("sinfo", "--noheader", "--format=%T").split()) == {"idle"})

    def start_node(self, name: str) -> None:
        """Start one node, or start it again."""
        watcher = self._root / "usr/sbin/slurmstepd-wlm"
        self.call("slurmd-wlm", "-N", name, "-f", str(self._configuration), "-d", str(watcher))

    def kill_node(self, name: str) -> None:
        """Take one node away as a power cut would: its daemon, and each process of its jobs."""
        self._daemon(name).kill()
        for process in self._on(name):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()

    def call(self, *words: str) -> str:
        """What one of Slurm's commands prints."""
        done = subprocess.run(
            words, env=self.environment, capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
        assert done.returncode == 0, f"{words[0]}: {done.stderr}"
        return done.stdout

    def jobs(self, *states: str) -> list[str]:
        """The tasks in these states, each by the number of its array and its own."""
        return self.call(
            "squeue", "--array", "--noheader", f"--states={','.join(states)}", "--format=%i"
        ).split()

    def wait_for(self, holds: Callable[[], bool], seconds: float = _PATIENCE) -> None:
        """Wait until something holds."""
        until = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < until, self.call("squeue", "--all") + self.call("sinfo")
            time.sleep(0.1)

    def stop(self) -> None:
        """End all of it, and wait for that."""
        daemons = []
        for name in (*NODES, "controller", "munge"):
            with contextlib.suppress(OSError, ValueError, psutil.NoSuchProcess):
                daemons.append(self._daemon(name))
        for process in daemons:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.terminate()
        _, alive = psutil.wait_procs(daemons, timeout=_PATIENCE)
        for process in (*alive, *(each for name in NODES for each in self._on(name))):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()

    @property
    def _libraries(self) -> Path:
        return next((self._root / "usr/lib").glob("*-linux-gnu"))

    def _unpack(self) -> None:
        """Debian's Slurm, unpacked into the directory: nothing is installed on the machine."""
        packages = self.directory / "packages"
        (packages / "partial").mkdir(parents=True)
        # What the packages need and the machine lacks comes with them. apt lowers its privileges to a user that a
        # private directory shuts out.
        command = [
            "apt-get",
            "install",
            "-qq",
            "-y",
            "--no-install-recommends",
            "--download-only",
            "--reinstall",
        ]
        for option in (
            f"Dir::Cache::archives={packages}/",
            "APT::Sandbox::User=root",
            "DPkg::Lock::Timeout=300",
        ):
            command += ["-o", option]
        done = subprocess.run(
            [*command, *_PACKAGES], capture_output=True, text=True, timeout=600, check=False
        )
        assert done.returncode == 0, done.stderr
        for package in packages.glob("*.deb"):
            subprocess.run(["dpkg-deb", "--extract", str(package), str(self._root)], check=True)

    def _daemon(self, name: str) -> psutil.Process:
        return psutil.Process(int((self.directory / f"{name}.pid").read_text()))

    def _on(self, node: str) -> list[psutil.Process]:
        """The processes of the jobs on a node. Slurm's own process over each of them writes the node's log."""
        log, found = str(self.directory / f"{node}.log"), []
        for each in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if each.name().startswith("slurmstepd") and any(
                    file.path == log for file in each.open_files()
                ):
                    found += [each, *each.children(recursive=True)]
        return found


def _free_ports(count: int) -> list[int]:
    """Ports of this machine that nobody listens on."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@contextlib.contextmanager
def own_fleet() -> Iterator[OwnFleet]:
    """A fleet that is up, and gone at the end of the block."""
    # A socket's path must be short: pytest's own directories are not.
    with tempfile.TemporaryDirectory(prefix="fb-", ignore_cleanup_errors=True) as name:
        fleet = OwnFleet(Path(name))
        try:
            fleet.start()
            yield fleet
        finally:
            fleet.stop()
