#!/usr/bin/env bash
# Tests tools/assay with a stand-in for tools/setup, and tools/setup's parts with stand-ins for the
# package managers.
set -u
source_root=$(cd -P "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

# check WHAT ACTUAL EXPECTED
check() {
  [ "$2" = "$3" ] && return
  printf 'FAILED: %s\n  is:        %s\n  should be: %s\n' "$1" "$2" "$3"
  failures=$((failures + 1))
}

# contains WHAT TEXT PART
contains() {
  case $2 in *"$3"*) return ;; esac
  printf 'FAILED: %s\n  no "%s" in: %s\n' "$1" "$3" "$2"
  failures=$((failures + 1))
}

# stand_in PATH BODY
stand_in() {
  printf '#!/usr/bin/env bash\n%s\n' "$2" >"$1"
  chmod +x "$1"
}

tree="$scratch/a tree"
mkdir -p "$tree"/{tools/lib,framework/base,plugins,cmake,torch}
touch "$tree"/{CMakeLists.txt,CMakePresets.json,framework/base/text.cpp}
cp "$source_root/tools/assay" "$tree/tools/"
stand_in "$tree/tools/setup" '
root=$(cd -P "$(dirname "$0")/.." && pwd)
echo "$*" >>"$root/setups"
[ ! -e "$root/broken" ] || exit 3
mkdir -p "$root/build/release/bin"
printf "#!/usr/bin/env bash\necho \"\$ASSAY_PYTHON|\$*\"; exit 1\n" >"$root/build/release/bin/assay"
chmod +x "$root/build/release/bin/assay"
printf "cpu\n%s\npython-of-torch\n" "$root/torch" >"$root/build/release/.assay-built"'
setups() { grep -c . "$tree/setups"; }
unset ASSAY_TORCH ASSAY_PYTHON

said=$("$tree/tools/assay" run 'a b.yaml'); code=$?
check 'first use sets up, then runs with the arguments' "$said" 'python-of-torch|run a b.yaml'
check "the program's exit code comes back" "$code" 1
check 'what is asked of set-up' "$(cat "$tree/setups")" '--preset release --build program'
"$tree/tools/assay" >"$scratch/out"
check 'the second use does not set up' "$(setups)" 1
ln -s "$tree/tools/assay" "$scratch/linked"
check 'through a link, from elsewhere' "$(cd / && "$scratch/linked" x)" 'python-of-torch|x'
check 'by its name alone' "$(cd "$tree/tools" && bash assay x)" 'python-of-torch|x'
check "the user's own Python is kept" "$(ASSAY_PYTHON=mine "$tree/tools/assay" x)" 'mine|x'
check 'still one set-up' "$(setups)" 1

later() { touch -d '1 minute' "$1"; }
later "$tree/framework/base/text.cpp"
"$tree/tools/assay" >"$scratch/out"
check 'a newer source is built first' "$(setups)" 2
touch "$tree/framework/base/text.cpp"
touch -d '2 minutes' "$tree/build/release/.assay-built"
ASSAY_TORCH=cuda "$tree/tools/assay" >"$scratch/out"
check 'another flavour is set up' "$(setups)" 3
touch -d '2 minutes' "$tree/build/release/.assay-built"
rmdir "$tree/torch"
"$tree/tools/assay" >"$scratch/out"
check 'a LibTorch that has gone is set up again' "$(setups)" 4
mkdir "$tree/torch"
touch "$tree/broken" && later "$tree/plugins"
"$tree/tools/assay" >"$scratch/out"; code=$?
check 'a set-up that fails gives its exit code' "$code" 3
check '... and the program is not run' "$(cat "$scratch/out")" ''

bin=$scratch/bin
mkdir "$bin"
stand_in "$bin/dpkg-query" 'printf "installed %s\n" $INSTALLED'
stand_in "$bin/apt-get" 'echo "apt-get $*" >>"$LOG"; exit "${APT_CODE:-0}"'
stand_in "$bin/sudo" 'exit 1'
stand_in "$bin/id" 'echo "$USER_ID"'
everything='g++ git ca-certificates python3 python3-venv libboost1.81-dev libboost-filesystem1.81-dev
  libboost-program-options-dev libyaml-cpp-dev libsqlitecpp-dev libsqlite3-dev libfmt-dev
  nlohmann-json3-dev libvalijson-dev libexpected-dev libmd-dev libgloo-dev libgtest-dev libgmock-dev
  libbenchmark-dev zlib1g-dev gnuplot-qt'
export LOG=$scratch/log

# packages USER_ID INSTALLED: runs ensure_packages; sets said and code, logs apt-get's calls in LOG.
packages() {
  : >"$LOG"
  said=$(PATH=$bin:$PATH USER_ID=$1 INSTALLED=$2 bash -c '
    . "$0/tools/lib/common.sh"; . "$0/tools/lib/packages.sh"; ensure_packages' "$source_root" 2>&1)
  code=$?
}

packages 1000 "$everything"
check 'nothing is missing, other versions of Boost and gnuplot count' "$code|$said" '0|'
packages 1000 "${everything/libmd-dev/}"
check 'without root rights' "$code" 3
contains 'the command an administrator must run' "$said" \
  'apt-get update && apt-get install -y --no-install-recommends libmd-dev'
check '... and nothing is installed' "$(cat "$LOG")" ''
packages 0 "${everything/libmd-dev/}"
check 'as root' "$code" 0
contains 'only what is missing is installed' "$(cat "$LOG")" \
  'apt-get install -y --no-install-recommends libmd-dev'
APT_CODE=100 packages 0 "${everything/libmd-dev/}"
check 'apt-get fails' "$code" 3

stand_in "$bin/python3" 'mkdir -p "$3/bin"
printf "#!%s/bin/python3\n" "$3" >"$3/bin/tool"
printf "#!/usr/bin/env bash\nexit \${PIP_CODE:-0}\n" >"$3/bin/python"; chmod +x "$3/bin/python"'
# environment PIP_CODE: makes the environment `made` in a cache of its own.
environment() {
  PATH=$bin:$PATH ASSAY_CACHE=$scratch/cache PIP_CODE=$1 bash -c '
    . "$0/tools/lib/common.sh"; . "$0/tools/lib/toolchain.sh"
    make_environment made leave_as_is some-wheel' "$source_root" 2>"$scratch/err"
  code=$?
}
mkdir "$scratch/cache"
environment 1
check 'pip fails' "$code" 3
check '... and leaves no environment' "$(test -e "$scratch/cache/made" && echo there)" ''
environment 0
check 'pip succeeds' "$code" 0
check 'scripts name the interpreter where it ends up' "$(head -n 1 "$scratch/cache/made/bin/tool")" \
  "#!$scratch/cache/made/bin/python3"
check 'nothing half made stays' "$(ls "$scratch/cache")" made

[ "$failures" = 0 ] && echo 'all checks passed'
exit "$((failures > 0))"
