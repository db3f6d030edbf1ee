# System packages of Debian, Ubuntu and their derivatives; sourced by tools/setup.

# package to install|pattern of installed packages that also count
system_packages='
g++
git
ca-certificates
python3
python3-venv
libboost-dev|libboost[0-9.]+-dev
libboost-filesystem-dev|libboost-filesystem[0-9.]+-dev
libboost-program-options-dev|libboost-program-options[0-9.]+-dev
libyaml-cpp-dev
libsqlitecpp-dev
libsqlite3-dev
libfmt-dev
nlohmann-json3-dev
libvalijson-dev
libexpected-dev
libmd-dev
zlib1g-dev
libgloo-dev
libgtest-dev
libgmock-dev
libbenchmark-dev
gnuplot-nox|gnuplot-(qt|x11)
'

# Whether this machine has the package's program from elsewhere.
works_already() {
  case $1 in
    g++ | git) command -v "$1" ;;
    python3) command -v python3 ;;
    python3-venv) python3 -c 'import ensurepip, venv' ;;
    gnuplot-nox) command -v gnuplot ;;
    *) false ;;
  esac >/dev/null 2>&1
}

# Prints the names of the missing packages, one per line.
missing_packages() {
  local installed name also
  installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p')
  while IFS='|' read -r name also; do
    [ -n "$name" ] || continue
    grep -Eqx "${name//+/[+]}${also:+|$also}" <<<"$installed" || works_already "$name" ||
      echo "$name"
  done <<<"$system_packages"
}

ensure_packages() {
  local missing
  if ! command -v dpkg-query >/dev/null 2>&1; then
    say "this is neither Debian nor Ubuntu; install what these packages contain:" \
      "$(sed 's/|.*//' <<<"$system_packages" | xargs)"
    return
  fi
  missing=$(missing_packages | xargs)
  [ -n "$missing" ] || return 0
  install_packages "$missing"
}

# install_packages "NAME…": without root rights it prints the command for an administrator.
install_packages() {
  local command="apt-get install -y --no-install-recommends $1"
  if ! can_administrate; then
    say "missing on this machine: $1"
    say "an administrator must run:"
    printf '\n  apt-get update && %s\n\n' "$command" >&2
    die 3 "run this again afterwards"
  fi
  say "system packages: installing $1"
  { as_administrator apt-get update -qq &&
    as_administrator env DEBIAN_FRONTEND=noninteractive $command -qq; } >&2 ||
    die 3 "apt-get failed, see above; run it by hand: apt-get update && $command"
}

# Launch engines, network tools and shells that tests skip without: installed where that needs no
# password.
ensure_engines() {
  local missing=() pair
  for pair in mpirun:openmpi-bin slurmctld:slurm-wlm munged:munge ip:iproute2 \
    zsh:zsh fish:fish; do
    PATH=$PATH:/usr/sbin command -v "${pair%:*}" >/dev/null 2>&1 || missing+=("${pair#*:}")
  done
  [ ${#missing[@]} = 0 ] || ! can_administrate || install_packages "${missing[*]}"
}

# ensure_program PROGRAM: installs a developer's tool from the package of the same name.
ensure_program() {
  command -v "$1" >/dev/null 2>&1 || install_packages "$1"
}
