# What tools/run.sh and tools/test.sh share: named, timed steps, and the build. To be sourced; sets `root`.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
current_step=""

# A script that stops early says in which step.
report_failure() {
  local status=$?
  if [ "$status" -ne 0 ] && [ -n "$current_step" ]; then
    printf '%s: FAILED in step "%s" (exit %d)\n' "${0##*/}" "$current_step" "$status" >&2
  fi
}
trap report_failure EXIT

# step NAME COMMAND...: runs it, then prints how long it took.
step() {
  local name=$1 begin=$SECONDS
  shift
  current_step=$name
  printf '== %s\n' "$name"
  "$@"
  printf '== %s: %d s\n' "$name" $((SECONDS - begin))
  current_step=""
}

# logged FILE COMMAND...: keeps the output in FILE; prints its end if the command fails.
logged() {
  local log=$1 status=0
  shift
  mkdir -p "$(dirname "$log")"
  "$@" >"$log" 2>&1 || status=$?
  if [ "$status" -ne 0 ]; then
    tail -n 100 "$log" >&2
    printf 'The whole output: %s\n' "$log" >&2
  fi
  return "$status"
}

set_up() {
  bash "$root/tools/setup.sh" "$@"
  # shellcheck source=/dev/null
  . "$root/.deps/environment.sh"
}

# configure PRESET
configure() {
  # Only read when a build folder is new, so that an old one isn't built anew.
  if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  fi
  (cd "$root" && logged "build/$1/configure.log" cmake --preset "$1")
}

# build PRESET [TARGET...]; all targets if none is named. On a terminal Ninja shows its progress in one line.
build() {
  local command=(cmake --build "$root/build/$1" --parallel "$(nproc)") log="$root/build/$1/build.log"
  shift
  [ $# -eq 0 ] || command+=(--target "$@")
  if [ -t 1 ]; then "${command[@]}"; else logged "$log" "${command[@]}"; fi
}
