#!/bin/sh
# Builds the image, looks at what is in it, and runs it as the chart does. Needs a container engine that speaks Docker's
# commands; with BUILD_ARGS for its build. Exit code 0: all of it holds.
set -eu
cd "$(dirname "$0")/../.."
engine=${ENGINE:-docker}
image=${IMAGE:-kubeherald:check}
node=${NODE:-node}

# shellcheck disable=SC2086
$engine build ${BUILD_ARGS:-} -t "$image" -f "${DOCKERFILE:-Dockerfile}" .

echo "== what is in it"
container=$($engine create "$image")
trap '$engine rm -f "$container" > /dev/null' EXIT
$engine export "$container" | $node deploy/image/scan.ts /dev/stdin

echo "== how it runs: read-only root, no capabilities, no network"
hardened="--rm --read-only --cap-drop ALL --security-opt no-new-privileges --network none"
version=$($engine run $hardened "$image" --version)
expected=$($node -p 'require("./package.json").version')
[ "$version" = "$expected" ] || { echo "it says version $version, not $expected" >&2; exit 1; }
# A configuration that only needs to be read.
$engine run $hardened -v "$PWD/deploy/compose:/etc/kubeherald:ro" "$image" \
  check --offline --config /etc/kubeherald/kubeherald.yaml && code=0 || code=$?
# Its secrets are not there: it says so, and that it is the configuration's fault.
[ "$code" = 2 ] || { echo "a configuration whose secrets are missing ended with $code, not 2" >&2; exit 1; }
! $engine run $hardened --entrypoint /bin/sh "$image" -c true 2> /dev/null || { echo "there is a shell in it" >&2; exit 1; }
echo "== $image holds"
