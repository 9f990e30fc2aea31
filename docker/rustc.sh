#!/bin/sh
# Between Cargo and the compiler: notes each package's processor time, so that what is built in one go is told apart.
"$@" || exit
if [ -n "${CARGO_PKG_NAME:-}" ]; then
    # In a file: a pipe's shell has no children whose time it could tell.
    times > "/tmp/times.$$"
    { read -r _; read -r user system; } < "/tmp/times.$$"
    echo "$CARGO_PKG_NAME $user $system" >> /forge/compiled
fi
