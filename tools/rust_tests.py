"""rustfmt, clippy and the Rust tests in the image's tools stage, for hosts that have no Rust."""

import sys
import tempfile
from pathlib import Path

from runner.daemon.docker_command import builder, docker
from runner.images.base import ensure_base
from runner.images.build import build_arguments, certificate_secret
from runner.images.identity import identify
from runner.images.lock import require_lock
from runner.images.network import network_arguments
from runner.images.spec import ImageSpec
from runner.matrix import load_matrix
from runner.matrix.images import ImageTarget, Stage
from runner.system import machine
from runner.system.errors import ForgeBenchError

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Build the stage rust-tests and show what it printed; the exit code is the build's."""
    toolchain = next(iter(load_matrix(ROOT / "matrix.yaml").toolchains.values()))
    spec = ImageSpec(
        target=ImageTarget(name="rust-tests", source=Stage(packages=())),
        architecture=machine.architecture(),
        toolchain=toolchain,
    )
    require_lock(ROOT, toolchain, "tools", spec.architecture)
    with tempfile.TemporaryDirectory() as temporary:
        log = Path(temporary) / "rust-tests.log"
        base = ensure_base(toolchain, log_directory=Path(temporary), say=_say)
        result = docker(
            *("buildx", "build", "--builder", builder(), "--progress", "plain", "--output", "type=cacheonly"),
            *("--target", spec.target.name, "--file", str(ROOT / "docker" / "Dockerfile")),
            *build_arguments(spec, identify(spec, ROOT), base),
            *certificate_secret(),
            *network_arguments(toolchain),
            str(ROOT),
            log=log,
        )
        sys.stdout.write(log.read_text(encoding="utf-8", errors="replace"))
    return result.returncode


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    try:
        raise SystemExit(main())
    except ForgeBenchError as error:
        _say(f"forge-bench: {error}")
        raise SystemExit(error.exit_code) from None
