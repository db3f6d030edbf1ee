# Installs CMake, Ninja, LibTorch and nvcc from wheels into virtual environments in the cache that a
# user's clones share; sourced by tools/setup.

torch_version=2.11.0
cmake_version=4.1.2

# Runs pip, on a terminal with a progress bar. Downloads stay until the environment is complete, so
# that an interrupted set-up can continue.
install_wheels() {
  local environment=$1 output=(--quiet)
  shift
  [ ! -t 2 ] || output=(--progress-bar on)
  "$environment/bin/python" -m pip install --disable-pip-version-check \
    --cache-dir "$(cache_folder)/downloads" "${output[@]}" "$@" >&2
}

# make_environment NAME FINISH PIP-ARGUMENTS…: makes a virtual environment under another name,
# completes it with FINISH (a function that takes its folder) and renames it: none is ever half made.
make_environment() {
  local final partial finish=$2
  final=$(cache_folder)/$1
  partial=$final.partial
  shift 2
  rm -rf "$partial"
  python3 -m venv "$partial" >&2 || die 3 "python3 -m venv failed; is python3-venv installed?"
  install_wheels "$partial" "$@" || die 3 "pip could not install $*; see above"
  "$finish" "$partial"
  # Scripts of an environment name their interpreter in the first line.
  grep -lIs "^#!$partial/" "$partial"/bin/* | xargs -r sed -i "1s|$partial/|$final/|"
  mv "$partial" "$final"
  rm -rf "$(cache_folder)/downloads"
}

leave_as_is() { :; }

ensure_build_tools() {
  [ ! -d "$(cache_folder)/build-tools" ] || return 0
  say "build tools: CMake $cmake_version and Ninja, into $(cache_folder)/build-tools"
  make_environment build-tools leave_as_is "cmake==$cmake_version" 'ninja==1.13.*'
}

has_gpu() { [ -e /dev/nvidia0 ] || nvidia-smi -L >/dev/null 2>&1; }

# Prints the path of an installed nvcc of LibTorch's CUDA major version, if there is one.
find_nvcc() {
  local candidate
  for candidate in "$(command -v nvcc)" "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc"; do
    if [ -x "$candidate" ] && "$candidate" --version | grep -q 'release 13\.'; then
      echo "$candidate"
      return
    fi
  done
}

# Prints cuda where there is a GPU or nvcc, else cpu.
choose_flavour() {
  case ${ASSAY_TORCH:-} in
    cpu | cuda) echo "$ASSAY_TORCH" ;;
    '') if has_gpu || [ -n "$(find_nvcc)" ]; then echo cuda; else echo cpu; fi ;;
    *) die 2 "ASSAY_TORCH is '$ASSAY_TORCH'; it may be cpu or cuda" ;;
  esac
}

site_packages() { echo "$1"/lib/python3*/site-packages; }

# Removes libraries that the CPU flavour never loads: 550 MB.
drop_cuda_parts() {
  local libraries
  libraries=$(site_packages "$1")/torch/lib
  rm -f "$libraries"/libtorch_cuda*.so "$libraries"/libtorch_nvshmem.so "$libraries"/libtorch_python.so
  if ldd "$libraries/libtorch_cpu.so" "$libraries/libc10.so" | grep 'not found' >&2; then
    die 3 "LibTorch lacks the libraries above"
  fi
}

# Adds names that the linker and CMake expect.
link_toolkit_names() {
  local toolkit
  toolkit=$(site_packages "$1")/nvidia/cu13
  ln -s lib "$toolkit/lib64"
  ln -s libcudart.so.13 "$toolkit/lib/libcudart.so"
  ln -s libnvrtc.so.13 "$toolkit/lib/libnvrtc.so"
}

# Sets torch_dir, python (for external variants) and, for CUDA, cuda_compiler.
ensure_torch() {
  local environment
  if [ "$1" = cpu ]; then
    environment=$(cache_folder)/torch-$torch_version-cpu
    if [ ! -d "$environment" ]; then
      say "LibTorch $torch_version for the CPU (0.5 GB to download), into $environment"
      make_environment "${environment##*/}" drop_cuda_parts --no-deps "torch==$torch_version" \
        nvidia-cuda-cupti==13.0.85 nvidia-cuda-runtime==13.0.96
    fi
    python=$(command -v python3)
  else
    environment=$(cache_folder)/torch-$torch_version-cu130
    if [ ! -d "$environment" ]; then
      say "LibTorch $torch_version for CUDA 13.0 (2.6 GB to download, 4.7 GB installed), into $environment"
      make_environment "${environment##*/}" leave_as_is "torch==$torch_version" numpy
    fi
    python=$environment/bin/python
    ensure_nvcc
  fi
  torch_dir=$(site_packages "$environment")/torch
}

ensure_nvcc() {
  local environment
  cuda_compiler=$(find_nvcc)
  [ -z "$cuda_compiler" ] || return 0
  environment=$(cache_folder)/cuda-13.0.2
  if [ ! -d "$environment" ]; then
    say "CUDA compiler 13.0 (0.2 GB to download), into $environment"
    make_environment cuda-13.0.2 link_toolkit_names \
      'cuda-toolkit[nvcc,nvvm,crt,cccl,cudart,nvrtc]==13.0.2'
  fi
  cuda_compiler=$(site_packages "$environment")/nvidia/cu13/bin/nvcc
}
