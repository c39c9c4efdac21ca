#!/usr/bin/env bash
# Everything that needs a GPU, in one go: the GPU tests, the same under compute-sanitizer, one checked training step, speed
# against the device's limits, host latency. Prints a summary; full logs and JSON go to --out.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: tools/gpu/check.sh [--binaries DIR] [--out DIR] [PART...]

  --binaries DIR  folder with test_gpu, cake-bench and the libraries they need (default: build them in build/release)
  --out DIR       where logs and JSON go (default: build/gpu-check)
  PART            tests, large, memcheck, racecheck, initcheck, step, latency, speed (default: all)
TEXT
}

root=$(cd "$(dirname "$0")/../.." && pwd)
binaries=""
out="$root/build/gpu-check"
parts=()
while [ $# -gt 0 ]; do
  case "$1" in
    --binaries) binaries=$(cd "$2" && pwd); shift 2 ;;
    --out) out="$2"; shift 2 ;;
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    *) parts+=("$1"); shift ;;
  esac
done
[ ${#parts[@]} -gt 0 ] || parts=(tests large memcheck racecheck initcheck step latency speed)
mkdir -p "$out"

if [ -z "$binaries" ]; then
  cmake --preset release -S "$root" >"$out/configure.log"
  cmake --build "$root/build/release" --target test_gpu cake-bench >"$out/build.log"
  binaries="$out/bin"
  mkdir -p "$binaries"
  cp "$root"/build/release/tests/gpu/test_gpu "$root"/build/release/tools/cake-bench "$root"/build/release/runtime/libcakejit.so* "$binaries"
fi
export LD_LIBRARY_PATH="$binaries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export CAKEJIT_CACHE_DIR="${CAKEJIT_CACHE_DIR:-$out/cache}"

failed=()
# part NAME COMMAND...: runs it, keeps its output, prints the last lines and the time.
part() {
  local name=$1 begin=$SECONDS status=0
  shift
  "$@" >"$out/$name.log" 2>&1 || status=$?
  printf '== %s: %s in %d s\n' "$name" "$([ $status -eq 0 ] && echo ok || echo "FAILED ($status)")" $((SECONDS - begin))
  tail -n "${lines:-6}" "$out/$name.log"
  [ $status -eq 0 ] || failed+=("$name")
}

sanitizer() {
  local tool=$1
  shift
  # initcheck: y and dx are written, not read, by the kernels; what is copied back is all written.
  CAKEJIT_TEST_SWEEP=quick part "$tool" compute-sanitizer --tool "$tool" --error-exitcode 9 "$@" "$binaries/test_gpu" "~[large]"
}

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | tee "$out/gpu.txt"
for name in "${parts[@]}"; do
  case "$name" in
    tests) part tests "$binaries/test_gpu" "~[large]" ;;
    large) part large "$binaries/test_gpu" "[large]" ;;
    memcheck) sanitizer memcheck --leak-check full ;;
    racecheck | initcheck) sanitizer "$name" ;;
    step) part step "$binaries/cake-bench" step ;;
    latency) lines=14 part latency "$binaries/cake-bench" latency --json "$out/latency.json" ;;
    speed) lines=60 part speed "$binaries/cake-bench" speed --sweep seed --json "$out/speed.json" ;;
    *) echo "unknown part: $name" >&2; usage >&2; exit 2 ;;
  esac
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "FAILED: ${failed[*]}"
  exit 1
fi
echo "all parts ok: ${parts[*]}"
