# LibTorch from a Python wheel's `torch` folder. find_package(Torch) would insist on a CUDA toolkit
# and add its own flags. The project's build and, installed, find_package(assay) include this file;
# ASSAY_SDK_INCLUDE names the folder of the plugin headers. Targets:
#   assay_torch  headers and libraries of LibTorch, and of CUDA where this build has it
#   assay_sdk    assay_torch and the plugin headers, with the build's fingerprint
set(ASSAY_TORCH_DIR "" CACHE PATH "LibTorch: the `torch` folder in a site-packages folder")
set(ASSAY_CUDA AUTO CACHE STRING "Build for CUDA: ON, OFF, or AUTO (when this LibTorch can)")
set_property(CACHE ASSAY_CUDA PROPERTY STRINGS AUTO ON OFF)

if(NOT EXISTS "${ASSAY_TORCH_DIR}/lib/libtorch_cpu.so")
  message(FATAL_ERROR "No LibTorch at ASSAY_TORCH_DIR=\"${ASSAY_TORCH_DIR}\": tools/setup fetches "
    "one; or pass -DASSAY_TORCH_DIR=<site-packages>/torch, or -DASSAY_TORCH=OFF.")
endif()
get_filename_component(assay_site_packages "${ASSAY_TORCH_DIR}" DIRECTORY)
set(assay_torch_lib "${ASSAY_TORCH_DIR}/lib")
set(assay_cuda_wheel "${assay_site_packages}/nvidia/cu13")

file(STRINGS "${ASSAY_TORCH_DIR}/version.py" assay_version_lines)
string(REGEX MATCH "__version__ = '([^']+)'" _ "${assay_version_lines}")
set(ASSAY_TORCH_VERSION "${CMAKE_MATCH_1}")
string(REGEX MATCH "cuda: Optional\\[str\\] = '([^']+)'" _ "${assay_version_lines}")
set(ASSAY_CUDA_VERSION "${CMAKE_MATCH_1}")

# A CUDA wheel without its dependencies has libtorch_cuda.so but cannot load it.
file(GLOB assay_cublas "${assay_cuda_wheel}/lib/libcublas.so.*" "${assay_torch_lib}/libcublas*.so*")
if(EXISTS "${assay_torch_lib}/libtorch_cuda.so" AND assay_cublas)
  set(assay_torch_has_cuda ON)
else()
  set(assay_torch_has_cuda OFF)
endif()
if(ASSAY_CUDA STREQUAL "AUTO")
  set(ASSAY_WITH_CUDA ${assay_torch_has_cuda})
else()
  set(ASSAY_WITH_CUDA ${ASSAY_CUDA})
endif()
if(ASSAY_WITH_CUDA AND NOT assay_torch_has_cuda)
  message(FATAL_ERROR "ASSAY_CUDA=ON, but the LibTorch at ${ASSAY_TORCH_DIR} is not a CUDA build "
    "or lacks its CUDA libraries.")
endif()

# Kernels are compiled for the GPUs of this machine, or for the H200's architecture without any;
# from compute capability 9.0 on, for the variant with all features ("90a").
function(assay_choose_cuda_architectures)
  if(ASSAY_CUDA_ARCHITECTURES)
    return()
  endif()
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
    OUTPUT_VARIABLE capabilities ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REGEX MATCHALL "[0-9]+\\.[0-9]+" capabilities "${capabilities}")
  list(REMOVE_DUPLICATES capabilities)
  foreach(capability IN LISTS capabilities)
    string(REPLACE "." "" architecture ${capability})
    if(capability VERSION_GREATER_EQUAL 9.0)
      string(APPEND architecture a)
    endif()
    list(APPEND architectures ${architecture})
  endforeach()
  if(NOT architectures)
    set(architectures 90a)
  endif()
  set(ASSAY_CUDA_ARCHITECTURES "${architectures}" CACHE STRING
    "GPU architectures that kernels are compiled for, such as 80;90a" FORCE)
endfunction()

add_library(assay_torch INTERFACE)
target_include_directories(assay_torch SYSTEM INTERFACE
  "${ASSAY_TORCH_DIR}/include" "${ASSAY_TORCH_DIR}/include/torch/csrc/api/include")
# c10d's headers omit classes unless the first two are defined. LibTorch brings fmt's headers, but
# no library with their functions.
target_compile_definitions(assay_torch INTERFACE USE_DISTRIBUTED USE_C10D_GLOO FMT_HEADER_ONLY)
# --no-as-needed: LibTorch's libraries register with each other when loaded, so they must stay
# linked even without a symbol in use.
target_link_libraries(assay_torch INTERFACE
  "-Wl,--push-state,--no-as-needed,${assay_torch_lib}/libtorch_cpu.so,${assay_torch_lib}/libc10.so,--pop-state")

if(ASSAY_WITH_CUDA)
  find_program(ASSAY_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda
    PATH_SUFFIXES bin DOC "CUDA compiler; without one the plugins with kernels are left out")
  if(ASSAY_NVCC)
    get_filename_component(assay_nvcc_real "${ASSAY_NVCC}" REALPATH)
    get_filename_component(assay_cuda_root "${assay_nvcc_real}" DIRECTORY)
    get_filename_component(assay_cuda_root "${assay_cuda_root}" DIRECTORY)
  endif()
  find_path(ASSAY_CUDA_INCLUDE cuda_runtime_api.h REQUIRED NO_DEFAULT_PATH
    PATHS "${assay_cuda_root}/include" "${assay_cuda_wheel}/include" /usr/local/cuda/include)
  # LibTorch's own runtime comes first: one process must not load two.
  find_library(ASSAY_CUDART NAMES libcudart.so.13 libcudart.so REQUIRED NO_DEFAULT_PATH
    PATHS "${assay_cuda_wheel}/lib" "${assay_cuda_root}/lib64" /usr/local/cuda/lib64)
  target_include_directories(assay_torch SYSTEM INTERFACE "${ASSAY_CUDA_INCLUDE}")
  if(EXISTS "${assay_site_packages}/nvidia/nccl/include/nccl.h")
    target_include_directories(assay_torch SYSTEM INTERFACE
      "${assay_site_packages}/nvidia/nccl/include")
    target_compile_definitions(assay_torch INTERFACE USE_C10D_NCCL)
  endif()
  target_compile_definitions(assay_torch INTERFACE ASSAY_WITH_CUDA=1)
  target_link_libraries(assay_torch INTERFACE
    "-Wl,--push-state,--no-as-needed,${assay_torch_lib}/libtorch_cuda.so,${assay_torch_lib}/libc10_cuda.so,--pop-state"
    "${ASSAY_CUDART}")
  set(assay_cuda_text "CUDA ${ASSAY_CUDA_VERSION}")

  # A build without a working nvcc leaves out the plugins with kernels.
  if(ASSAY_NVCC)
    include(CheckLanguage)
    set(CMAKE_CUDA_ARCHITECTURES OFF)
    if(NOT CMAKE_CUDA_COMPILER)
      set(ENV{CUDACXX} "${ASSAY_NVCC}")
    endif()
    check_language(CUDA)
    if(CMAKE_CUDA_COMPILER)
      enable_language(CUDA)
      set(CMAKE_CUDA_STANDARD 20)
      set(CMAKE_CUDA_STANDARD_REQUIRED ON)
      assay_choose_cuda_architectures()
      set(assay_cuda_options --expt-relaxed-constexpr)
      foreach(architecture IN LISTS ASSAY_CUDA_ARCHITECTURES)
        list(APPEND assay_cuda_options
          "--generate-code=arch=compute_${architecture},code=sm_${architecture}")
      endforeach()
      target_compile_options(assay_torch INTERFACE
        "$<$<COMPILE_LANGUAGE:CUDA>:${assay_cuda_options}>")
    endif()
  endif()
else()
  set(assay_cuda_text "no CUDA")
endif()

# Where ld finds the dependencies of libtorch_cpu.so, and where the loader finds LibTorch.
file(GLOB assay_wheel_libs "${assay_site_packages}/nvidia/*/lib")
foreach(folder IN LISTS assay_wheel_libs)
  target_link_options(assay_torch INTERFACE "-Wl,-rpath-link,${folder}")
endforeach()
set(ASSAY_TORCH_RPATH "${assay_torch_lib}" "${assay_cuda_wheel}/lib")
set(CMAKE_BUILD_RPATH "\$ORIGIN" ${ASSAY_TORCH_RPATH})

# A plugin must have the fingerprint of the worker that loads it.
include(CheckCXXSourceCompiles)
check_cxx_source_compiles("#include <string>
#if !_GLIBCXX_USE_CXX11_ABI
#error the older of libstdc++'s two ABIs
#endif
int main() {}" ASSAY_CXX11_ABI)
if(ASSAY_CXX11_ABI)
  set(assay_cxx_abi cxx11)
else()
  set(assay_cxx_abi gcc4)
endif()
file(STRINGS "${ASSAY_SDK_INCLUDE}/assay/plugin.h" assay_sdk_line
  REGEX "^#define ASSAY_SDK_VERSION ")
string(REGEX REPLACE "[^0-9]" "" assay_sdk_version "${assay_sdk_line}")
# The hash covers changed headers with an unchanged version.
file(GLOB_RECURSE assay_sdk_headers CONFIGURE_DEPENDS "${ASSAY_SDK_INCLUDE}/assay/*.h")
set(assay_sdk_text "")
foreach(header IN LISTS assay_sdk_headers)
  file(SHA256 "${header}" assay_header_hash)
  string(APPEND assay_sdk_text "${assay_header_hash}")
endforeach()
string(SHA256 assay_sdk_hash "${assay_sdk_text}")
string(SUBSTRING "${assay_sdk_hash}" 0 8 assay_sdk_hash)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${assay_sdk_headers})
# The worker searches a plugin's file for its beginning, "SDK ".
set(ASSAY_BUILD_FINGERPRINT "SDK ${assay_sdk_version}-${assay_sdk_hash}, ${CMAKE_CXX_COMPILER_ID} \
${CMAKE_CXX_COMPILER_VERSION}, libstdc++ ${assay_cxx_abi}, LibTorch ${ASSAY_TORCH_VERSION}, \
${assay_cuda_text}")
message(STATUS "assay build: ${ASSAY_BUILD_FINGERPRINT}")

add_library(assay_sdk INTERFACE)
target_include_directories(assay_sdk INTERFACE "${ASSAY_SDK_INCLUDE}")
target_compile_definitions(assay_sdk INTERFACE
  "ASSAY_BUILD_FINGERPRINT=\"${ASSAY_BUILD_FINGERPRINT}\"")
target_link_libraries(assay_sdk INTERFACE assay_torch)
