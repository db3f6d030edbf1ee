# What assay survives (docs/reliability.md): the program itself, with plugins, disks, clocks and inputs
# that misbehave. One executable, so that its page knows every test; those that need a GPU are labelled.
assay_test(faults LINK assay_store_database UNDISCOVERED)
target_sources(test_faults PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/end_to_end/support/folder.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/end_to_end/support/two_nodes.cpp)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/tests/faults/cache)
add_dependencies(test_faults assay assay_worker ${plugin_targets}
  hostile_attention hostile_load hostile_ranks hostile_step faulty_system)
if(TARGET hostile_gpu)
  add_dependencies(test_faults hostile_gpu)
endif()
gtest_discover_tests(test_faults DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120
  TEST_FILTER -*Gpu* TEST_PREFIX faults. TEST_LIST fault_tests PROPERTIES TIMEOUT 300)
gtest_discover_tests(test_faults DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120
  TEST_FILTER *Gpu* TEST_PREFIX faults. TEST_LIST gpu_fault_tests
  PROPERTIES LABELS gpu TIMEOUT 300)
