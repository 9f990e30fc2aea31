#!/usr/bin/env bash
# Pushes images and joins the architectures of each target in one index.
#
#   python -m runner build | push_images.sh REPOSITORY VERSION > digests.tsv
#
# Reads lines of "TARGET ARCHITECTURE CONFIG-DIGEST"; prints lines of "TARGET <tab> PLATFORM <tab> DIGEST", where the
# platform is "index" or what the registry says of one entry of it, such as "linux/arm64".
set -euo pipefail
repository=$1
version=$2

declare -A sources
while read -r target architecture config; do
  reference="$repository:$version-$target-$architecture"
  docker tag "$config" "$reference" >&2
  docker push --quiet "$reference" >&2
  pushed=$(docker image inspect --format '{{range .RepoDigests}}{{println .}}{{end}}' "$reference" |
    grep --max-count=1 --fixed-strings "$repository@")
  sources[$target]+=" $pushed"
done

for target in "${!sources[@]}"; do
  tags=(--tag "$repository:$version-$target")
  if [ "$target" = core ]; then
    tags+=(--tag "$repository:$version" --tag "$repository:latest")
  fi
  # The digests of one target are words of one string: that they are split is what is wanted.
  # shellcheck disable=SC2086
  docker buildx imagetools create "${tags[@]}" ${sources[$target]} >&2
  index=$(docker buildx imagetools inspect --format '{{json .Manifest}}' "$repository:$version-$target" |
    jq --raw-output .digest)
  printf '%s\tindex\t%s\n' "$target" "$index"
  # What a builder attests stands in an index under the platform "unknown"; only what runs is listed.
  docker buildx imagetools inspect --raw "$repository@$index" |
    jq --raw-output --arg target "$target" \
      '.manifests[] | select(.platform.os != "unknown")
       | [$target, "\(.platform.os)/\(.platform.architecture)", .digest] | @tsv'
done | sort
