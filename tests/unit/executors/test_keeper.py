"""What the runner makes of a keeper's answers; the daemon is invented, and its answers are Docker's."""

from collections.abc import Iterator

import pytest

from executors.invented_daemon import InventedDaemon
from executors.test_docker import IMAGE, REQUEST
from runner.executors.keeper import Keeper, keeper
from runner.system.errors import DockerUnavailable


@pytest.fixture
def beside(daemon: InventedDaemon) -> Iterator[Keeper]:
    assert IMAGE.config_digest is not None
    with keeper(
        daemon.client,
        image=IMAGE.config_digest,
        of_image=(),
        labels={},
        limits=REQUEST.limits,
        cpuset=None,
        inputs=False,
    ) as found:
        found.started()
        yield found


def test_a_program_that_the_daemon_does_not_start_says_nothing_about_the_outputs(daemon, beside):
    daemon.starts_no = "torchforge"
    with pytest.raises(DockerUnavailable, match="could not start 'torchforge' beside a launch") as error:
        beside.examine(["torchforge", "replay"])
    assert "unable to start container process" in str(error.value)
    assert beside.examine(["python3"]).exit_code == 0
