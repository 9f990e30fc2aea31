"""The compile image: torch.compile finds its compiler and headers in it, as a launch is confined."""

import json

import pytest
from conftest import HOST, ROOT, docker, forge_bench

pytestmark = pytest.mark.skipif(HOST != "amd64", reason="the image compile is built for amd64 alone")

PROGRAM = """
import json, os, torch
torch.manual_seed(0)
network = torch.nn.Sequential(torch.nn.Linear(4, 120), torch.nn.ReLU(), torch.nn.Linear(120, 2))
rows = torch.randn(128, 4)
gradients = []
for each in (torch.compile(network), network):
    network.zero_grad()
    each(rows).square().mean().backward()
    gradients.append([parameter.grad.clone() for parameter in network.parameters()])
apart = max((one - other).abs().max().item() for one, other in zip(*gradients))
compiled = sum(name.endswith(".so") for _, _, names in os.walk("/tmp") for name in names)
print(json.dumps([apart, compiled]))
"""


@pytest.fixture(scope="module")
def compiler(images: None) -> str:
    """The compile image of this machine's architecture."""
    del images
    result = forge_bench(
        "build", "--profile", "full", "--toolchain", "trixie", "--only", "dqn/pytorch-compile", "--arch", HOST
    )
    assert result.returncode == 0, result.stderr[-4000:]
    return f"forge-bench:compile-trixie-{HOST}"


def test_a_network_is_compiled_forwards_and_backwards_where_a_launch_may_write(compiler):
    result = docker(
        *("run", "--rm", "--network", "none", "--read-only", "--cap-drop", "ALL", "--memory", "4g"),
        *("--tmpfs", "/tmp:size=256m,mode=1777,exec", "--env", "HOME=/tmp", "--entrypoint", "python3"),
        *(compiler, "-c", PROGRAM),
    )
    assert result.returncode == 0, result.stderr[-4000:]
    apart, compiled = json.loads(result.stdout)
    assert apart < 1e-6
    assert compiled > 0


def test_the_compiled_references_do_the_work_of_the_faithful_ones(compiler, packages_for_the_image):
    tests = "/checkout/tests/image/baselines/tuned/test_tuned.py"
    result = docker(
        *(
            "run",
            "--rm",
            "--network",
            "none",
            "--tmpfs",
            "/tmp:size=256m,mode=1777,exec",
            "--env",
            "HOME=/tmp",
        ),
        *(
            "--volume",
            f"{packages_for_the_image}:/pytest:ro",
            "--volume",
            f"{ROOT / 'tests'}:/checkout/tests:ro",
        ),
        *("--env", "PYTHONPATH=/opt/forge-bench:/opt/forge-bench/site-packages:/pytest"),
        *("--entrypoint", "python3", compiler, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider"),
        *("--rootdir", "/checkout", "--confcutdir", "/checkout", tests, "-k", "compile"),
    )
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-2000:]
    passed = [line for line in result.stdout.splitlines() if line.startswith("PASSED")]
    for algorithm in ("dqn", "ppo", "sac"):
        assert any(f"[{algorithm}-compile]" in line for line in passed), result.stdout[-4000:]
