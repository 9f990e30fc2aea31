"""``forge-bench bundle``: results and their images in one file, to be checked and run again without any network."""

import argparse
from pathlib import Path

from runner.bundles.pack import Packing, pack
from runner.cli.commands.base import Command, Context
from runner.cli.words.syntax import a_path
from runner.system.paths import resolved


def _run(context: Context) -> int:
    own = context.own
    source = context.source_at(str(own.place))
    name = source.root.name
    target = own.output or Path(f"{name}.tar")
    digest = pack(
        Packing(
            source=source,
            name=name,
            matrix=context.matrix_path,
            target=resolved(target),
            images=own.image,
        ),
        context.progress.say,
    )
    print(f"{digest}  {target}")
    return 0


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "place", type=a_path, metavar="PUBLICATION|DIRECTORY", help="a publication, or a directory of results"
    )
    parser.add_argument(
        "--output", type=a_path, metavar="FILE", help="the file to write; by default the name and .tar, here"
    )
    parser.add_argument(
        "--image",
        action="append",
        default=[],
        metavar="DIGEST|FILE|REFERENCE",
        help="an image that the daemon lacks, as for verify; repeat for several",
    )


COMMAND = Command(
    name="bundle",
    summary="write results and their images into one file, for verify --bundle without any network",
    takes=("--matrix",),
    notes=("It prints the SHA-256 of the file. The same results and images give the same bytes.",),
    add_options=_add_options,
    examples=("bundle 2026-11-26-gae-dqn", "bundle results/local --output results.tar"),
    run=_run,
)
