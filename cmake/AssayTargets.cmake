find_program(CCACHE ccache)
if(CCACHE)
  # Else it keeps nothing that reads a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()

# Where several files are compiled as one (CMAKE_UNITY_BUILD), a local name may be that of something
# in the file before, and g++ takes a file that is included for a header.
set(assay_unity_warnings -Wshadow)
if(CMAKE_UNITY_BUILD)
  set(assay_unity_warnings $<IF:$<CXX_COMPILER_ID:GNU>,-Wshadow=local;-Wno-subobject-linkage,-Wno-shadow>)
endif()
add_library(assay_options INTERFACE)
target_compile_options(assay_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;${assay_unity_warnings};-Wnon-virtual-dtor;-Wno-missing-field-initializers;-Werror>)
# g++ 12 takes brace-initialised temporaries for uninitialised once it inlines their destructors,
# "text" + std::string for overlapping copies, and the assignment of a text for one without end.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(assay_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized;-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-array-bounds>)
endif()
if(ASSAY_SANITIZE)
  target_compile_options(assay_options INTERFACE
    -fsanitize=${ASSAY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(assay_options INTERFACE -fsanitize=${ASSAY_SANITIZE})
endif()
if(ASSAY_FUZZ)
  target_compile_options(assay_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# One static library a folder of framework/, of the files in that folder itself:
# assay_room(report/data DEPENDS report/spec) makes assay_report_data. A room sees only those it
# names and those they see, which the linker keeps for what is called and tests/rooms for what is
# included. A room without files stands for those it names.
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

# The libraries' headers that nearly every room reads, read once.
add_library(assay_host_headers OBJECT ${PROJECT_SOURCE_DIR}/cmake/host_headers.cpp)
target_link_libraries(assay_host_headers PRIVATE
  ${ASSAY_FMT} nlohmann_json::nlohmann_json tl::expected assay_options)
target_precompile_headers(assay_host_headers PRIVATE ${PROJECT_SOURCE_DIR}/cmake/host_headers.h)
