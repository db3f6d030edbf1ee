# assay_add_plugin(<kind> <name> SOURCES <file>… [LINK <target>…]) builds plugins/<kind>/<name>.so
# in the build folder, where `assay` looks for it. One library may register several plugins.
function(assay_add_plugin kind name)
  cmake_parse_arguments(PLUGIN "" "" "SOURCES;LINK" ${ARGN})
  set(target assay_plugin_${kind}_${name})
  add_library(${target} MODULE ${PLUGIN_SOURCES})
  assay_use_torch(${target})
  target_link_libraries(${target} PRIVATE assay_worker ${PLUGIN_LINK})
  set_target_properties(${target} PROPERTIES
    PREFIX "" OUTPUT_NAME ${name}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/plugins/${kind}
    BUILD_RPATH "$ORIGIN/../../lib;${CMAKE_BUILD_RPATH}"
    CXX_VISIBILITY_PRESET hidden)
  set_property(GLOBAL APPEND PROPERTY ASSAY_PLUGIN_TARGETS ${target})
endfunction()
