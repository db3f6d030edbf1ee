# The suite of cheats (docs/trust.md): plugins that want a small number for work they do not do.
function(assay_cheating_plugin name)
  add_library(cheats_${name} MODULE fixtures/cheats/${name}.cpp)
  set_target_properties(cheats_${name} PROPERTIES PREFIX ""
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/fixtures)
  target_link_libraries(cheats_${name} PRIVATE assay_worker assay_options)
  assay_use_torch(cheats_${name})
endfunction()
set(cheats allocator early_backward incremental judge later memory neighbours process steps values
  second_attention second_known second_later second_neighbours second_steps second_tables
  second_values)
if(CMAKE_CUDA_COMPILER)
  list(APPEND cheats gpu)
endif()
foreach(name IN LISTS cheats)
  assay_cheating_plugin(${name})
endforeach()
list(TRANSFORM cheats PREPEND cheats_)

assay_test(cheats LINK assay_run assay_store_database assay_yaml UNDISCOVERED)
target_sources(test_cheats PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/end_to_end/support/folder.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/end_to_end/support/program.cpp)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/tests/cheats/cache)
add_dependencies(test_cheats assay assay_worker ${plugin_targets} ${cheats})
# An experiment takes a minute of one core, and five where others want it.
gtest_discover_tests(test_cheats DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120
  TEST_FILTER -*GpuCheats* TEST_PREFIX cheats. TEST_LIST cheat_tests PROPERTIES TIMEOUT 1200)
gtest_discover_tests(test_cheats DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120
  TEST_FILTER *GpuCheats* TEST_PREFIX cheats. TEST_LIST gpu_cheat_tests
  PROPERTIES LABELS gpu TIMEOUT 300)
