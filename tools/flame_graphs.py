"""A flame graph of each trainer of `phases-ppo` and `phases-sac`, from samples that py-spy takes in the core image.

    python -m tools.flame_graphs --machine "AMD A"     # writes docs/figures/flame-*.svg

Sampling begins after the first steps of a training, and the training is ended when enough samples were taken. It needs
Docker, the image that `make images` builds, and uv of the virtual environment, which installs py-spy for this call alone.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

from runner.images.spec import ImageSpec
from runner.matrix import load_matrix
from runner.matrix.images import CORE
from runner.system import machine
from runner.system.checkout import ROOT

PY_SPY = "0.4.3"
# `make .venv/.ready` puts it beside this Python.
UV = Path(sys.executable).with_name("uv")
FIGURES = ROOT / "docs" / "figures"
# Each trains until it is ended.
TRAINERS = {
    "ppo-pytorch": ["baselines.references.phases_ppo", "--iterations", "100000"],
    "ppo-torchforge": ["baselines.ours.phases_ppo_torchforge", "--iterations", "100000"],
    "sac-pytorch": ["baselines.references.phases_sac", "--steps", "1000000"],
    "sac-torchforge": ["baselines.ours.phases_sac_torchforge", "--steps", "1000000"],
}
# SAC has learnt for a while then, and PPO has played whole rollouts.
_FIRST_STEP = 2_000
_FOLDER = "/opt/forge-bench"

_WIDTH, _ROW, _TOP, _LETTER = 1200, 17, 64, 6.2
# Narrower frames are left out: a part of all samples.
_LEAST = 0.004
_STYLE = """
text { font: 11px ui-monospace, Menlo, Consolas, monospace; fill: #1f2328; }
.title { font-size: 15px; font-weight: 600; }
.rust { fill: #f5b895; }
.pytorch { fill: #a9cbf2; }
.python { fill: #d1d9e0; }
svg { background: #ffffff; }
"""
_LIBRARY = re.compile(r"\((?P<name>[^()]*\.so[\d.]*)\)$")


@dataclass
class Frame:
    """A function, or a library without Python, and how many samples fell into it and into what it called."""

    name: str
    layer: str
    samples: int = 0
    called: "dict[str, Frame]" = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Stacks:
    """What a sampler saw of a training."""

    training: Frame
    outside: int
    """The samples outside the training's loop: of threads that wait, for instance."""


def read_stacks(text: str) -> Stacks:
    """The stacks of py-spy's raw format: frames from the outermost on, with semicolons between, and a count."""
    top, outside = Frame("train", "python"), 0
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        frames = stack.split(";")
        first = next((i for i, each in enumerate(frames) if each.startswith("train (baselines/")), None)
        if first is None:
            outside += int(count)
            continue
        top.name = frames[first]
        _add(top, frames[first + 1 :], int(count))
    return Stacks(training=top, outside=outside)


def _add(top: Frame, frames: Sequence[str], samples: int) -> None:
    top.samples += samples
    frame = top
    for each in frames:
        library = _LIBRARY.search(each)
        # Programs are stripped, so what lies inside a library is one frame of the library's name.
        name = each if library is None else library["name"].rpartition("/")[2]
        if library is not None and name == frame.name:
            continue
        frame = frame.called.setdefault(name, Frame(name, _layer(name, frame.layer)))
        frame.samples += samples


def _layer(name: str, above: str) -> str:
    """Whose code it is; what several layers call belongs to the layer that called it."""
    if name.startswith("_torchforge."):
        return "rust"
    if "(torch/" in name or name.startswith(("libtorch", "libc10")):
        return "pytorch"
    return "python" if name.endswith(")") else above


def drawn(stacks: Stacks, title: str, words: str) -> str:
    """The flame graph as SVG, without a program inside; the title of each frame has its whole name."""
    least = _LEAST * stacks.training.samples
    height = _TOP + _ROW * _depth(stacks.training, least) + 8
    shapes = list(_frames(stacks.training, 0.0, height - _ROW - 8, stacks.training.samples, least))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}"'
            f' viewBox="0 0 {_WIDTH} {height}" role="img" aria-labelledby="title about">',
            f'<title id="title">{escape(title)}</title>\n<desc id="about">{escape(words)}</desc>',
            f"<style>{_STYLE}</style>",
            f'<text class="title" x="6" y="20">{escape(title)}</text>',
            f'<text x="6" y="38">{escape(words)}</text>',
            *_legend(),
            *shapes,
            "</svg>\n",
        ]
    )


def _depth(frame: Frame, least: float) -> int:
    return 1 + max(
        (_depth(each, least) for each in frame.called.values() if each.samples >= least), default=0
    )


def _legend() -> Iterator[str]:
    x = 6
    for layer, words in {"rust": "Rust", "python": "Python", "pytorch": "PyTorch"}.items():
        yield f'<rect class="{layer}" x="{x}" y="46" width="11" height="11"/><text x="{x + 16}" y="56">{words}</text>'
        x += 90


def _frames(frame: Frame, x: float, y: float, all_samples: int, least: float) -> Iterator[str]:
    width = _WIDTH * frame.samples / all_samples
    share = f"{frame.name}: {100 * frame.samples / all_samples:.1f} %"
    place = f'x="{x:.1f}" y="{y:.0f}" width="{max(width - 0.5, 0.5):.1f}" height="{_ROW - 1}"'
    yield f'<g><title>{escape(share)}</title><rect class="{frame.layer}" {place}/>{_label(frame, x, y, width)}</g>'
    for each in sorted(frame.called.values(), key=lambda called: called.name):
        if each.samples >= least:
            yield from _frames(each, x, y - _ROW, all_samples, least)
        x += _WIDTH * each.samples / all_samples


def _label(frame: Frame, x: float, y: float, width: float) -> str:
    letters = int((width - 6) / _LETTER)
    if letters < min(3, len(frame.name)):
        return ""
    shown = frame.name if len(frame.name) <= letters else frame.name[: letters - 1] + "…"
    return f'<text x="{x + 3:.1f}" y="{y + 12:.0f}">{escape(shown)}</text>'


def py_spy() -> Path:
    """The sampler, installed into uv's cache."""
    asked = "import shutil; print(shutil.which('py-spy'))"
    found = _done(str(UV), "run", "--no-project", "--with", f"py-spy=={PY_SPY}", "python", "-c", asked)
    return Path(found.stdout.strip())


@contextmanager
def training(image: str, sampler: Path, words: Sequence[str]) -> Iterator[str]:
    """A container whose trainer has taken its first steps."""
    mounts = ["-v", f"{sampler}:/usr/bin/py-spy:ro", "-v", f"{ROOT / 'baselines'}:{_FOLDER}/baselines:ro"]
    # A process that is not the trainer's parent reads its stacks.
    rights = ["--network", "none", "--user", "0", "--cap-add", "SYS_PTRACE", "--entrypoint", "python3"]
    container = _done("docker", "run", "--detach", *rights, *mounts, image, "-m", *words).stdout.strip()
    try:
        log = ["docker", "logs", "--follow", container]
        with subprocess.Popen(log, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as followed:
            if followed.stdout is None or not any(map(_is_on_its_way, followed.stdout)):
                sys.exit(
                    f"the trainer {words[0]} ended early; docker run {image} -m {' '.join(words)} says why"
                )
            followed.kill()
        yield container
    finally:
        _done("docker", "rm", "--force", "--volumes", container)


def _is_on_its_way(line: str) -> bool:
    event: Mapping[str, object] = json.loads(line)
    done = event.get("done")
    return isinstance(done, int) and done >= _FIRST_STEP


def sampled(container: str, rate: int, seconds: int) -> tuple[str, str]:
    """Stacks in py-spy's raw format, and its own sentence on samples and errors."""
    settings = ["--native", "--nolineno", "--rate", str(rate), "--duration", str(seconds), "--format", "raw"]
    record = ["py-spy", "record", "--pid", "1", *settings, "--output", "/stacks"]
    done = _done("docker", "exec", container, *record)
    said = done.stdout + done.stderr
    if "behind in sampling" in said:
        sys.exit(f"the sampler fell behind, so its shares would be wrong; try fewer than --rate {rate}")
    counted = re.search(r"Samples: (\d+) Errors: (\d+)", said)
    if counted is None:
        sys.exit(f"py-spy does not say how many samples it took: {said}")
    with tempfile.TemporaryDirectory() as folder:
        _done("docker", "cp", f"{container}:/stacks", folder)
        stacks = (Path(folder) / "stacks").read_text(encoding="utf-8")
    return stacks, f"{counted[1]} samples, {counted[2]} failed"


def _done(*command: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command[:3])} ended with {done.returncode}: {done.stderr.strip()}")
    return done


def main(arguments: Sequence[str] | None = None) -> None:
    """Sample every trainer and draw what was seen."""
    parser = argparse.ArgumentParser(description="Draw a flame graph of each trainer")
    parser.add_argument("--machine", required=True, help="the machine's name in our documents")
    parser.add_argument("--rate", type=int, default=50, help="samples a second (50)")
    parser.add_argument("--seconds", type=int, default=30, help="how long each trainer is sampled (30)")
    parser.add_argument(
        "trainers", nargs="*", default=[*TRAINERS], metavar="trainer", help=", ".join(TRAINERS)
    )
    options = parser.parse_args(arguments)
    toolchain = next(iter(load_matrix(ROOT / "matrix.yaml").toolchains.values()))
    image = ImageSpec(target=CORE, architecture=machine.architecture(), toolchain=toolchain).tag
    sampler = py_spy()
    for name in options.trainers:
        with training(image, sampler, TRAINERS[name]) as container:
            text, counted = sampled(container, options.rate, options.seconds)
        stacks = read_stacks(text)
        words = (
            f"Samples, not a measurement: {options.machine}, py-spy {PY_SPY}, {options.rate} a second for"
            f" {options.seconds} seconds: {counted}, {stacks.outside} outside train. Frames below"
            f" {100 * _LEAST:.1f} % are left out."
        )
        title = f"Where samples of {TRAINERS[name][0]} fall"
        (FIGURES / f"flame-{name}.svg").write_text(drawn(stacks, title, words), encoding="utf-8")
        print(f"flame-{name}.svg: {words}")


if __name__ == "__main__":
    main()
