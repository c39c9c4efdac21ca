#!/usr/bin/env bash
# Installs what a build needs and isn't there: Debian packages; NVRTC and nvJitLink from pip where no CUDA toolkit is found.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: tools/setup.sh [--tests]

Installs with apt-get (as root or with sudo) the packages that are missing, on Debian 12 or Ubuntu 24.04. Where no CUDA toolkit
with NVRTC and nvJitLink of release 12.8 or later is found, installs them from pip into .deps/toolkit. Writes
.deps/environment.sh, which tells the toolkit's place to who sources it. A second run installs nothing.

  --tests    also what only the tests use: a disassembler, and an NVRTC that knows sm_107a

The toolkit is looked for in CAKEJIT_TOOLKIT_PATH (if that is set, only there), CUDA_HOME, CUDA_PATH, /usr/local/cuda*, /opt/cuda*, and
the loader's path.
TEXT
}

# One release for both libraries: nvJitLink can't read LTO-IR of a later NVRTC.
toolkit_wheels=(nvidia-cuda-nvrtc==13.0.88 nvidia-nvjitlink==13.0.88)
# The first release that knows sm_107a is 13.4.
new_toolkit_wheels=(nvidia-cuda-nvrtc==13.5.37 nvidia-nvjitlink==13.5.37)
disassembler_wheels=(nvidia-cuda-nvdisasm==13.5.37)

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
deps="$root/.deps"

say() { printf '%s\n' "$*"; }
fail() {
  printf 'setup.sh: %s\n' "$*" >&2
  exit 1
}

# --- Debian packages ---------------------------------------------------------------------------------------------------

# A tool that is on the path is good enough, wherever it comes from; libraries are asked for by package.
missing_packages() {
  local pair
  for pair in g++:g++ cmake:cmake ninja:ninja-build ccache:ccache; do
    command -v "${pair%%:*}" >/dev/null || echo "${pair#*:}"
  done
  local libraries=(libfmt-dev libspdlog-dev libxxhash-dev nlohmann-json3-dev libcli11-dev catch2)
  comm -23 <(printf '%s\n' "${libraries[@]}" | sort) \
    <(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${libraries[@]}" 2>/dev/null | sed -n 's/^installed //p' | sort)
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail "must be root, or have sudo, to run: $*"
  fi
}

install_packages() {
  [ $# -gt 0 ] || return 0
  say "installing packages: $*"
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
  # A source that can't be reached (a third party's, say) need not matter; if it does, the install says so.
  as_root "${apt[@]}" update >"$deps/apt.log" 2>&1 || say "apt-get update failed; going on with the lists at hand"
  as_root "${apt[@]}" install -y --no-install-recommends "$@" >>"$deps/apt.log" 2>&1 </dev/null || {
    tail -n 30 "$deps/apt.log" >&2
    fail "apt-get install failed: $*"
  }
}

set_up_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "not a Debian system: install g++ 12+, cmake 3.25+, ninja, fmt, spdlog, xxhash, nlohmann-json, CLI11 and Catch2 yourself"
    return
  fi
  local missing
  mapfile -t missing < <(missing_packages)
  install_packages "${missing[@]}"
}

# --- pip packages ------------------------------------------------------------------------------------------------------

# The first Python with a working pip; Debian's gets one from its package.
find_pip() {
  local python
  for python in python3 /usr/bin/python3; do
    if "$python" -m pip --version >/dev/null 2>&1; then
      echo "$python"
      return
    fi
  done
  return 1
}

# install_wheels FOLDER REQUIREMENT...: FOLDER holds exactly these, or doesn't exist, whenever this is stopped.
install_wheels() {
  local folder=$1 python
  shift
  [ "$(cat "$folder/.wheels" 2>/dev/null)" != "$*" ] || return 0
  find_pip >/dev/null || install_packages python3-pip
  python=$(find_pip) || fail "no python3 with pip was found, to install $*"
  say "installing into ${folder#"$root/"}: $*"
  rm -rf "$folder" "$folder.new"
  PIP_USER=0 PIP_REQUIRE_VIRTUALENV=0 "$python" -m pip install --quiet --disable-pip-version-check --no-input --no-deps \
    --no-compile --root-user-action ignore --target "$folder.new" "$@" </dev/null
  printf '%s' "$*" >"$folder.new/.wheels"
  mv "$folder.new" "$folder"
}

# --- CUDA toolkit ------------------------------------------------------------------------------------------------------

# Whether FOLDER holds both libraries, of release 12.8 (which knows sm_100a) or later.
is_toolkit_folder() {
  local builtins version
  compgen -G "$1/libnvJitLink.so.1[23]" >/dev/null || return 1
  for builtins in "$1"/libnvrtc-builtins.so.1[23].*; do
    version=$(basename "$builtins" | sed -n 's/^libnvrtc-builtins\.so\.\([0-9]*\.[0-9]*\).*/\1/p')
    case "$version" in
      12.[89] | 13.*) return 0 ;;
    esac
  done
  return 1
}

loader_folders() {
  tr ':' '\n' <<<"${LD_LIBRARY_PATH:-}"
  { ldconfig -p 2>/dev/null || /sbin/ldconfig -p 2>/dev/null || true; } | sed -n 's/.*libnvrtc\.so\.1[23] .*=> //p' | xargs -r -n1 dirname
}

# Prints the first folder of an installed toolkit.
find_toolkit() {
  local place folder
  for place in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda /usr/local/cuda-* /opt/cuda /opt/cuda-*; do
    [ -n "$place" ] || continue
    for folder in "$place/lib64" "$place/lib" "$place"/targets/*/lib; do
      if is_toolkit_folder "$folder"; then
        echo "$folder"
        return
      fi
    done
  done
  while read -r folder; do
    if [ -n "$folder" ] && is_toolkit_folder "$folder"; then
      echo "$folder"
      return
    fi
  done < <(loader_folders)
  return 1
}

set_up_toolkit() {
  toolkit=${CAKEJIT_TOOLKIT_PATH:-}
  [ -z "$toolkit" ] || return 0
  if ! toolkit=$(find_toolkit); then
    install_wheels "$deps/toolkit" "${toolkit_wheels[@]}"
    toolkit="$deps/toolkit"
  fi
}

set_up_disassembler() {
  disassembler=${CAKEJIT_TEST_NVDISASM:-$(command -v nvdisasm || true)}
  [ -z "$disassembler" ] || return 0
  install_wheels "$deps/disassembler" "${disassembler_wheels[@]}"
  disassembler=$(find "$deps/disassembler" -name nvdisasm -type f -print -quit)
  [ -n "$disassembler" ] || fail "there is no nvdisasm in ${disassembler_wheels[*]}"
  chmod +x "$disassembler"
}

set_up_new_toolkit() {
  new_toolkit=${CAKEJIT_TEST_NEW_TOOLKIT:-}
  [ -z "$new_toolkit" ] || return 0
  install_wheels "$deps/toolkit-new" "${new_toolkit_wheels[@]}"
  new_toolkit="$deps/toolkit-new"
}

# --- main --------------------------------------------------------------------------------------------------------------

# A variable that is set already wins, also when the file is sourced.
write_environment() {
  local name
  for name in "$@"; do
    # shellcheck disable=SC2016  # the file's reader expands it
    printf 'export %s="${%s:-%s}"\n' "${name%%=*}" "${name%%=*}" "${name#*=}"
  done >"$deps/environment.sh.new"
  mv "$deps/environment.sh.new" "$deps/environment.sh"
}

tests=no
for argument in "$@"; do
  case "$argument" in
    --tests) tests=yes ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done

mkdir -p "$deps"
exec 9>"$deps/lock"
flock 9  # run.sh and test.sh may be started together
set_up_packages
set_up_toolkit
variables=("CAKEJIT_TOOLKIT_PATH=$toolkit")
if [ "$tests" = yes ]; then
  set_up_disassembler
  set_up_new_toolkit
  variables+=("CAKEJIT_TEST_NVDISASM=$disassembler" "CAKEJIT_TEST_NEW_TOOLKIT=$new_toolkit")
fi
write_environment "${variables[@]}"
say "toolkit: ${toolkit#"$root/"}"
