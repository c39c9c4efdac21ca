#!/usr/bin/env bash
# From a fresh machine to the main job: set up, build, fill a kernel cache for the example models, list it, and run one checked
# training step.
set -euo pipefail
# shellcheck source=tools/steps.sh
. "$(dirname "${BASH_SOURCE[0]}")/steps.sh"

usage() {
  cat <<'TEXT'
usage: tools/run.sh [--arch LIST]

Installs what is missing (tools/setup.sh), configures and builds in build/release, then
  - builds the kernel libraries of every model in examples/models ahead of time into build/aot-cache,
  - lists them,
  - runs one packed training step, forward and backward, from that cache: on the GPU if there is one, else on the
    host route; checks it against float64 and prints errors and times.
A second run does only what changed. Nothing is written outside this folder, except by apt-get.

  --arch LIST    targets to build for (default: sm_90a,sm_100a)

Example: tools/run.sh --arch sm_90a,sm_120
TEXT
}

arch=sm_90a,sm_100a
while [ $# -gt 0 ]; do
  case "$1" in
    --arch) [ $# -ge 2 ] || { usage >&2; exit 2; }; arch=$2; shift 2 ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done

binaries=build/release/tools
cache=build/aot-cache

build_cache() {
  local models=() file
  for file in examples/models/*.json; do models+=(--model-config "$file"); done
  "$binaries/cake-aot" build --out "$cache" --arch "$arch" "${models[@]}"
}

training_step() {
  CAKEJIT_AOT_PATH="$root/$cache" CAKEJIT_CACHE_DIR="${CAKEJIT_CACHE_DIR:-$root/build/jit-cache}" "$binaries/cake-bench" step
}

cd "$root"
step "set up" set_up
step "configure" configure release
step "build" build release cakejit cake-aot cake-cache cake-bench
step "build the kernel cache" build_cache
step "list the kernel cache" "$binaries/cake-cache" ls "$cache"
step "training step" training_step
