# assay_add_plugin(<kind> <name> SOURCES <file>… [LINK <target>…]) builds plugins/<kind>/<name>.so
# in the build folder, for `assay` itself or for --plugin. One library may register several plugins.
# A project outside assay's tree also gets the test check.<kind>.<name>, which runs `assay check`,
# and installs beside assay's plugins.
function(assay_add_plugin kind name)
  cmake_parse_arguments(PLUGIN "" "" "SOURCES;LINK" ${ARGN})
  if(PLUGIN_SOURCES MATCHES "\\.cu(;|$)" AND NOT CMAKE_CUDA_COMPILER)
    if(ASSAY_PROGRAM)
      message(FATAL_ERROR "${kind}/${name} needs nvcc; -DASSAY_NVCC=<path> names one")
    endif()
    message(STATUS "${kind}/${name} is left out: it needs nvcc")
    return()
  endif()
  set(target assay_plugin_${kind}_${name})
  add_library(${target} MODULE ${PLUGIN_SOURCES})
  assay_use_torch(${target})
  target_link_libraries(${target} PRIVATE assay_worker ${PLUGIN_LINK})
  # A plugin built with another LibTorch can then be loaded far enough to read its fingerprint.
  target_link_options(${target} PRIVATE LINKER:-z,lazy)
  set_target_properties(${target} PROPERTIES
    PREFIX "" OUTPUT_NAME ${name}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/plugins/${kind}
    BUILD_RPATH "$ORIGIN/../../lib;${CMAKE_BUILD_RPATH}"
    INSTALL_RPATH "$ORIGIN/../../..;${ASSAY_TORCH_RPATH}"
    CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden)
  install(TARGETS ${target} LIBRARY DESTINATION lib/assay/plugins/${kind})
  set_property(GLOBAL APPEND PROPERTY ASSAY_PLUGIN_TARGETS ${target})
  if(ASSAY_PROGRAM)
    add_test(NAME check.${kind}.${name}
      COMMAND ${ASSAY_PROGRAM} check ${kind}/${name} --plugin $<TARGET_FILE:${target}>)
    # The exit code of `assay check` on a machine without what the plugin needs.
    set_tests_properties(check.${kind}.${name} PROPERTIES SKIP_RETURN_CODE 3)
  endif()
endfunction()
