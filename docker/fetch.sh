#!/bin/sh
# Fetches the packages that a lock file names, each checked against its checksum: from the mirror, and what that no
# longer serves from the archive of the day on which the lock was written.
# Usage: fetch.sh LOCK DIRECTORY; prints the path of every package, in the lock's order.
set -eu

lock=$1
directory=$2
mkdir -p "$directory"

packages() { grep -v -e '^#' -e '^$' "$lock"; }
mirrors() { sed -n -e 's/^# mirror: //p' -e 's/^# archive: //p' "$lock"; }
suite=$(sed -n 's/^# suite: //p' "$lock")

# Where no name server answers, each question takes six seconds. It is asked twice, because one answer can be lost: on a
# busy machine that failed a build.
export RES_OPTIONS='timeout:3 attempts:2'

fetch() { /usr/lib/apt/apt-helper -qq -o APT::Sandbox::User=root -o Acquire::http::Timeout=10 "$@" >&2; }

# Whether a mirror is there at all: apt would try to reach it anew for each of hundreds of packages.
answers() {
    fetch -o Acquire::Retries=0 -o Acquire::EnableSrvRecords=false \
        download-file "$1/dists/$suite/Release" "$directory/.release" && rm "$directory/.release"
}

# The packages that are not there, or not as locked.
missing() {
    packages | while read -r name version architecture size sha256 path; do
        file="$directory/${path##*/}"
        if [ ! -f "$file" ] || [ "$(sha256sum < "$file")" != "$sha256  -" ]; then
            echo "$name $version $architecture $size $sha256 $path"
        fi
    done
}

lacking=$(missing)
answered=
for mirror in $(mirrors); do
    [ -n "$lacking" ] || break
    answers "$mirror" || continue
    answered=yes
    # A file under our name that is not the locked one would count as the rest of a download.
    echo "$lacking" | while read -r _ _ _ _ _ path; do rm -f "$directory/${path##*/}"; done
    # shellcheck disable=SC2046
    fetch -o Acquire::Retries=2 download-file \
        $(echo "$lacking" | while read -r _ _ _ _ sha256 path; do
            echo "$mirror/$path" "$directory/${path##*/}" "SHA256:$sha256"
        done) || true
    lacking=$(missing)
done
if [ -n "$lacking" ]; then
    # Where nobody answered, nobody said that a package is not served: apt's own lines say why.
    [ -n "$answered" ] || exit 1
    echo "$lacking" | while read -r name version architecture _; do
        echo "forge-bench: not served: $name $version $architecture" >&2
    done
    exit 1
fi
packages | while read -r _ _ _ _ _ path; do echo "$directory/${path##*/}"; done
