#!/usr/bin/env bash
# Sets up, builds and runs all tests. The last lines are ctest's summary.
set -euo pipefail
# shellcheck source=tools/steps.sh
. "$(dirname "${BASH_SOURCE[0]}")/steps.sh"

usage() {
  cat <<'TEXT'
usage: tools/test.sh [--quick] [--preset NAME] [-- CTEST-ARGUMENT...]

  --quick          leaves out the tests labelled slow
  --preset NAME    a preset of CMakePresets.json: release (default), debug, asan, tsan

Example: tools/test.sh --preset asan -- -R test_cache
TEXT
}

preset=release
ctest_arguments=()
while [ $# -gt 0 ]; do
  case "$1" in
    --quick) ctest_arguments+=(--label-exclude '^slow$'); shift ;;
    --preset) [ $# -ge 2 ] || { usage >&2; exit 2; }; preset=$2; shift 2 ;;
    --) shift; ctest_arguments+=("$@"); break ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done

cd "$root"
step "set up" set_up --tests
step "configure" configure "$preset"
step "build" build "$preset"
current_step="tests"
ctest --test-dir "build/$preset" --output-on-failure --parallel "$(nproc)" "${ctest_arguments[@]}"
