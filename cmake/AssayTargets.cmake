find_program(CCACHE ccache)
if(CCACHE)
  # Otherwise ccache skips every file with a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()

# A unity build compiles several files as one: a local name may shadow one of an earlier file, and
# g++ takes an included source for a header.
set(assay_unity_warnings -Wshadow)
if(CMAKE_UNITY_BUILD)
  set(assay_unity_warnings $<IF:$<CXX_COMPILER_ID:GNU>,-Wshadow=local;-Wno-subobject-linkage,-Wno-shadow>)
endif()
add_library(assay_options INTERFACE)
target_compile_options(assay_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;${assay_unity_warnings};-Wnon-virtual-dtor;-Wno-missing-field-initializers;-Werror>)
# g++ would collect garbage among what LibTorch's headers leave, a tenth of its time for 200 MB.
target_compile_options(assay_options INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=2000000>)
# False warnings of g++ 12 on brace-initialised temporaries, "text" + std::string and assignments of
# a text.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(assay_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized;-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-array-bounds>)
endif()
if(ASSAY_SANITIZE)
  target_compile_options(assay_options INTERFACE
    -fsanitize=${ASSAY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
    # They take a third of the compiler's time; AddressSanitizer sees a null pointer that is used.
    -fno-sanitize=null,alignment)
  target_link_options(assay_options INTERFACE -fsanitize=${ASSAY_SANITIZE})
endif()
if(ASSAY_FUZZ)
  target_compile_options(assay_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# assay_room(report/data DEPENDS report/spec) makes the static library assay_report_data from the
# sources in framework/report/data. A room sees the rooms it names and those they see: the linker
# checks calls, tests/rooms checks includes. A room without files stands for those it names.
function(assay_room name)
  cmake_parse_arguments(ROOM "" "" "DEPENDS;LINK" ${ARGN})
  string(REPLACE / _ target assay_${name})
  list(TRANSFORM ROOM_DEPENDS REPLACE / _)
  list(TRANSFORM ROOM_DEPENDS PREPEND assay_)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/framework/${name}/*.cpp)
  if(NOT sources)
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${ROOM_DEPENDS} ${ROOM_LINK})
    return()
  endif()
  add_library(${target} STATIC ${sources})
  target_include_directories(${target} PUBLIC
    ${PROJECT_SOURCE_DIR}/framework ${PROJECT_SOURCE_DIR}/framework/sdk)
  target_link_libraries(${target} PUBLIC ${ROOM_DEPENDS} ${ROOM_LINK} PRIVATE assay_options)
  target_precompile_headers(${target} REUSE_FROM assay_host_headers)
endfunction()

# Headers of libraries that nearly every room includes.
add_library(assay_host_headers OBJECT ${PROJECT_SOURCE_DIR}/cmake/host_headers.cpp)
target_link_libraries(assay_host_headers PRIVATE
  ${ASSAY_FMT} nlohmann_json::nlohmann_json tl::expected assay_options)
target_precompile_headers(assay_host_headers PRIVATE ${PROJECT_SOURCE_DIR}/cmake/host_headers.h)
