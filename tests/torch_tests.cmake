# Tests that include LibTorch: one executable a folder, as assay_test makes. Compiled as
# position-independent objects, so that they share LibTorch's precompiled header. BY_SUITE: ctest runs
# a process for each suite, not for each test.
function(assay_torch_test name)
  cmake_parse_arguments(TEST "BY_SUITE" "" "PROPERTIES;DEPENDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  if(NOT sources)
    return()
  endif()
  if(CMAKE_CUDA_COMPILER)
    file(GLOB kernels CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cu)
  else()
    set(kernels "")
  endif()
  add_library(test_${name}_objects OBJECT ${sources} ${kernels})
  assay_use_torch(test_${name}_objects)
  if(kernels)
    target_compile_definitions(test_${name}_objects PRIVATE ASSAY_TEST_KERNELS)
  endif()
  target_compile_options(test_${name}_objects PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:${assay_test_options}>)
  target_include_directories(test_${name}_objects PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(test_${name}_objects PRIVATE GTest::gtest)
  target_compile_definitions(test_${name}_objects PRIVATE
    ASSAY_SOURCE_DIR="${PROJECT_SOURCE_DIR}" ASSAY_BUILD_DIR="${PROJECT_BINARY_DIR}")
  add_executable(test_${name})
  target_link_libraries(test_${name} PRIVATE test_${name}_objects assay_worker GTest::gtest_main)
  if(TEST_DEPENDS)
    add_dependencies(test_${name} ${TEST_DEPENDS})
  endif()
  if(TEST_BY_SUITE)
    set(program ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/test_${name})
    configure_file(${PROJECT_SOURCE_DIR}/cmake/suites.cmake.in ${name}_suites.cmake @ONLY)
    set_property(DIRECTORY APPEND PROPERTY
      TEST_INCLUDE_FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}_suites.cmake)
    return()
  endif()
  # One thread: tests run beside each other, and waiting OpenMP threads would take each other's cores.
  gtest_discover_tests(test_${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120
    PROPERTIES TIMEOUT 300 ENVIRONMENT OMP_NUM_THREADS=1 ${TEST_PROPERTIES})
endfunction()

get_property(plugin_targets GLOBAL PROPERTY ASSAY_PLUGIN_TARGETS)
assay_torch_test(model BY_SUITE)
assay_torch_test(measure BY_SUITE DEPENDS ${plugin_targets})
assay_torch_test(plugins BY_SUITE DEPENDS ${plugin_targets} sharded_variants)
# The analysis of the observer of kernels, whose library hides it.
foreach(file classes collect families flame_svg flops host_tree intervals paths profile trace)
  list(APPEND profile_sources ${PROJECT_SOURCE_DIR}/plugins/observer/kernels/${file}.cpp)
endforeach()
# The same of the observer of memory.
foreach(file collect device_memory figures observation pickle saved snapshot)
  list(APPEND memory_sources ${PROJECT_SOURCE_DIR}/plugins/observer/memory/${file}.cpp)
endforeach()
target_sources(test_plugins_objects PRIVATE ${profile_sources} ${memory_sources}
  ${PROJECT_SOURCE_DIR}/plugins/norm/fused_parts/plan.cpp)
target_include_directories(test_plugins_objects PRIVATE ${PROJECT_SOURCE_DIR}/plugins)
target_link_libraries(test_plugins PRIVATE ZLIB::ZLIB)
assay_torch_test(conformance DEPENDS ${plugin_targets} sharded_variants)
assay_torch_test(gpu PROPERTIES LABELS gpu DEPENDS ${plugin_targets})
target_link_libraries(test_gpu PRIVATE assay_health)
target_sources(test_gpu_objects PRIVATE
  ${PROJECT_SOURCE_DIR}/plugins/observer/kernels/paths.cpp ${memory_sources})
target_include_directories(test_gpu_objects PRIVATE ${PROJECT_SOURCE_DIR}/plugins)
