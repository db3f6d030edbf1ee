# Shared by the scripts in tools/; sourced.

say() { printf '[assay] %s\n' "$*" >&2; }

# die EXIT_CODE MESSAGE
die() {
  say "$2"
  exit "$1"
}

cache_folder() { echo "${ASSAY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/assay}"; }

# build_tool cmake|ctest|ninja: the path of the one that set-up installed.
build_tool() { echo "$(cache_folder)/build-tools/bin/$1"; }

# read_stamp BUILD_FOLDER: sets stamp_flavour, stamp_torch and stamp_python.
read_stamp() {
  { read -r stamp_flavour && read -r stamp_torch && read -r stamp_python; } <"$1/.assay-built"
}

# wait_for_lock DESCRIPTOR WHAT
wait_for_lock() {
  flock -n "$1" && return
  say "waiting for $2 to finish"
  flock "$1"
}

# Runs a command as root, if that needs no password.
as_administrator() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  else
    sudo -n "$@"
  fi
}

can_administrate() {
  [ "$(id -u)" = 0 ] || { command -v sudo && sudo -n true; } >/dev/null 2>&1
}
