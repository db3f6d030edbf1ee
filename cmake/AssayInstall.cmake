# `cmake --install build/release --prefix P` installs the program, its worker and plugins, configs,
# experiments and the plugin headers. LibTorch stays where it is.
install(TARGETS assay RUNTIME DESTINATION bin)
install(FILES ${ASSAY_SOURCE_FILE} DESTINATION lib/assay OPTIONAL)
install(DIRECTORY configs experiments DESTINATION share/assay)
install(DIRECTORY tools/peers DESTINATION share/assay/tools PATTERN __pycache__ EXCLUDE)
install(DIRECTORY tools/templates DESTINATION share/assay/tools)
install(DIRECTORY plugins/device DESTINATION share/assay/plugins)
foreach(plugin IN LISTS ASSAY_BEGINNINGS)
  cmake_path(GET plugin FILENAME name)
  install(FILES plugins/${plugin}/${name}.cpp DESTINATION share/assay/plugins/${plugin})
endforeach()
if(NOT ASSAY_TORCH)
  return()
endif()

set_target_properties(assay_worker PROPERTIES INSTALL_RPATH "$ORIGIN;${ASSAY_TORCH_RPATH}")
install(TARGETS assay_worker LIBRARY DESTINATION lib)
install(DIRECTORY framework/sdk/assay DESTINATION include)

# find_package(assay) of an installation, and of this build folder, for `--plugin FOLDER`.
include(CMakePackageConfigHelpers)
set(assay_config ${PROJECT_BINARY_DIR}/installed/assayConfig)
set(assay_config_include "\${assay_prefix}/include")
set(assay_config_plugins "\${assay_prefix}/share/assay/plugins")
set(assay_config_modules "\${CMAKE_CURRENT_LIST_DIR}")
configure_file(cmake/assayConfig.cmake.in ${assay_config}.cmake @ONLY)
set(assay_config_include ${ASSAY_SDK_INCLUDE})
set(assay_config_plugins ${PROJECT_SOURCE_DIR}/plugins)
set(assay_config_modules ${PROJECT_SOURCE_DIR}/cmake)
configure_file(cmake/assayConfig.cmake.in ${PROJECT_BINARY_DIR}/lib/assay/cmake/assayConfig.cmake @ONLY)
write_basic_package_version_file(${assay_config}Version.cmake COMPATIBILITY ExactVersion)
install(FILES ${assay_config}.cmake ${assay_config}Version.cmake
  cmake/AssayTorch.cmake cmake/AssayPlugins.cmake DESTINATION lib/cmake/assay)

# How assay compiles plugins from their sources. Paths are absolute or relative to `file`.
string(TOUPPER "${CMAKE_BUILD_TYPE}" assay_build_type)
separate_arguments(assay_cxx_flags UNIX_COMMAND
  "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${assay_build_type}}")
function(assay_write_plugin_build file sdk_include plugins worker precompiled_header package)
  foreach(list assay_cxx_flags assay_cuda_options)
    list(JOIN ${list} "\", \"" ${list})
  endforeach()
  set(property "TARGET_PROPERTY:assay_torch,INTERFACE")
  file(GENERATE OUTPUT ${file} CONTENT "{
  \"fingerprint\": \"${ASSAY_BUILD_FINGERPRINT}\",
  \"compiler\": \"${CMAKE_CXX_COMPILER}\",
  \"flags\": [\"${assay_cxx_flags}\"],
  \"cuda_compiler\": \"${CMAKE_CUDA_COMPILER}\",
  \"cuda_flags\": [\"${assay_cuda_options}\"],
  \"definitions\": [\"$<JOIN:$<${property}_COMPILE_DEFINITIONS>,\", \">\"],
  \"includes\": [\"${sdk_include}\", \"${plugins}\"],
  \"system_includes\": [\"$<JOIN:$<${property}_INCLUDE_DIRECTORIES>,\", \">\"],
  \"precompiled_header\": \"${precompiled_header}\",
  \"worker\": \"${worker}\",
  \"link\": [\"$<JOIN:$<${property}_LINK_LIBRARIES>,\", \">\"],
  \"cmake\": \"${CMAKE_COMMAND}\",
  \"generator\": \"${CMAKE_GENERATOR}\",
  \"make_program\": \"${CMAKE_MAKE_PROGRAM}\",
  \"package\": \"${package}\"
}
")
endfunction()
assay_write_plugin_build(${PROJECT_BINARY_DIR}/lib/assay/plugin_build.json
  ${ASSAY_SDK_INCLUDE} ${ASSAY_PLUGIN_INCLUDE} ../libassay_worker.so
  ${PROJECT_BINARY_DIR}/CMakeFiles/assay_torch_headers.dir/cmake_pch.hxx cmake)
assay_write_plugin_build(${PROJECT_BINARY_DIR}/installed/plugin_build.json
  ../../include ../../share/assay/plugins ../libassay_worker.so "" ../cmake/assay)
install(FILES ${PROJECT_BINARY_DIR}/installed/plugin_build.json DESTINATION lib/assay)
