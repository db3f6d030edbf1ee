# Tests that include LibTorch: one executable a folder, as assay_test makes. Compiled as
# position-independent objects, so that they share LibTorch's precompiled header.
function(assay_torch_test name)
  cmake_parse_arguments(TEST "" "" "LABELS;DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_library(test_${name}_objects OBJECT ${sources})
  assay_use_torch(test_${name}_objects)
  target_include_directories(test_${name}_objects PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(test_${name}_objects PRIVATE GTest::gtest)
  target_compile_definitions(test_${name}_objects PRIVATE
    ASSAY_SOURCE_DIR="${PROJECT_SOURCE_DIR}" ASSAY_BUILD_DIR="${PROJECT_BINARY_DIR}")
  add_executable(test_${name})
  target_link_libraries(test_${name} PRIVATE test_${name}_objects assay_worker GTest::gtest_main)
  if(TEST_DEPENDS)
    add_dependencies(test_${name} ${TEST_DEPENDS})
  endif()
  # One thread: tests run beside each other, and waiting OpenMP threads would take each other's cores.
  gtest_discover_tests(test_${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120
    PROPERTIES LABELS "${TEST_LABELS}" TIMEOUT 300 ENVIRONMENT OMP_NUM_THREADS=1)
endfunction()

get_property(plugin_targets GLOBAL PROPERTY ASSAY_PLUGIN_TARGETS)
assay_torch_test(model)
assay_torch_test(plugins DEPENDS ${plugin_targets})
assay_torch_test(conformance DEPENDS ${plugin_targets})
assay_torch_test(gpu LABELS gpu DEPENDS ${plugin_targets})
target_link_libraries(test_gpu PRIVATE assay_health)
