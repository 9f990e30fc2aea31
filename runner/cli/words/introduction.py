"""What an image says of itself where it is called without a word."""

INTRODUCTION = """\
forge-bench: does reinforcement learning in Rust beat its Python references?
The image holds the references, the Rust core and a runner that compares them.

    docker run --rm forge-bench gae                  an operation, a minute
    docker run --rm forge-bench dqn --profile smoke  a training, cut short
    docker run --rm forge-bench dqn                  the same in profile quick
    docker run --rm forge-bench run                  all of profile quick
    docker run --rm forge-bench list                 what can be run
    docker run --rm forge-bench --help               commands, options

The table is printed on stdout, the progress on stderr. A run needs no network
and no rights: add --network none --cap-drop ALL. Records, tables and a report
in HTML are kept in a folder that you mount:

    docker run --rm --user "$(id -u)" -v "$PWD/results:/results" forge-bench gae

A container cannot tell whether it runs natively, so its times are unranked.
Where the image is of the machine's own architecture, you can say so:

    docker run --rm -e FORGE_BENCH_EXECUTION=native forge-bench gae

A checkout runs each launch in a container of its own, under stated limits, and
builds the images of the other competitors: git clone, then make matrix.
"""
