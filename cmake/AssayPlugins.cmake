# assay_add_plugin(<kind> <name> SOURCES <file>… [INCLUDES <folder>…] [OPTIONS <option>…]
#                  [CUDA_OPTIONS <option>…] [LINK <target>…])
# builds plugins/<kind>/<name>.so in the build folder, for `assay` itself or for --plugin. One library
# may register several plugins, and have any number of .cpp and .cu files.
#   INCLUDES      folders searched for headers
#   OPTIONS       for the compilers of all sources
#   CUDA_OPTIONS  for nvcc alone
#   LINK          libraries that are linked: targets, which must be there already, or files
# Beside the library lies <name>.build.json, from which assay builds it anew for other values of
# options that are compiled in; its sources and their headers are installed for that.
# A project outside assay's tree also gets the test check.<kind>.<name>, which runs `assay check`,
# and installs beside assay's plugins.
function(assay_add_plugin kind name)
  cmake_parse_arguments(PLUGIN "" "" "SOURCES;INCLUDES;OPTIONS;CUDA_OPTIONS;LINK" ${ARGN})
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
  target_include_directories(${target} PRIVATE ${PLUGIN_INCLUDES} ${ASSAY_PLUGIN_INCLUDE})
  target_compile_options(${target} PRIVATE ${PLUGIN_OPTIONS}
    "$<$<COMPILE_LANGUAGE:CUDA>:${PLUGIN_CUDA_OPTIONS}>")
  # The tables through which it calls others are read-only once it is loaded, so that the worker can
  # tell whether another plugin has written to them.
  target_link_options(${target} PRIVATE LINKER:-z,relro,-z,now)
  set_target_properties(${target} PROPERTIES
    PREFIX "" OUTPUT_NAME ${name}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/plugins/${kind}
    BUILD_RPATH "$ORIGIN/../../lib;${CMAKE_BUILD_RPATH}"
    INSTALL_RPATH "$ORIGIN/../../..;${ASSAY_TORCH_RPATH}"
    CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden)
  install(TARGETS ${target} LIBRARY DESTINATION lib/assay/plugins/${kind})
  assay_describe_sources(${kind} ${name})
  set_property(GLOBAL APPEND PROPERTY ASSAY_PLUGIN_TARGETS ${target})
  if(ASSAY_PROGRAM)
    add_test(NAME check.${kind}.${name}
      COMMAND ${ASSAY_PROGRAM} check ${kind}/${name} --plugin $<TARGET_FILE:${target}>)
    # The exit code of `assay check` on a machine without what the plugin needs.
    set_tests_properties(check.${kind}.${name} PROPERTIES SKIP_RETURN_CODE 3)
  endif()
endfunction()

# The lists of assay_add_plugin as <name>.build.json beside the library, once for the build folder and
# once for the installation, where sources keep their places below their common folder.
function(assay_describe_sources kind name)
  set(sources ${PLUGIN_SOURCES})
  list(TRANSFORM sources REPLACE "^([^/].*)$" "${CMAKE_CURRENT_SOURCE_DIR}/\\1")
  set(includes ${PLUGIN_INCLUDES})
  list(TRANSFORM includes REPLACE "^([^/].*)$" "${CMAKE_CURRENT_SOURCE_DIR}/\\1")
  assay_write_sources(${PROJECT_BINARY_DIR}/plugins/${kind}/${name}.build.json
    "${sources}" "${includes}")

  list(GET sources 0 common)
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    list(APPEND folders "${folder}")
    cmake_path(IS_PREFIX common "${folder}" NORMALIZE inside)
    while(NOT inside)
      cmake_path(GET common PARENT_PATH common)
      cmake_path(IS_PREFIX common "${folder}" NORMALIZE inside)
    endwhile()
  endforeach()
  list(REMOVE_DUPLICATES folders)
  set(place share/assay/plugins/${kind}/${name})
  set(header_names *.h *.hh *.hpp *.hxx *.cuh *.inl *.inc *.ipp)
  foreach(folder IN LISTS folders)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${common}" OUTPUT_VARIABLE within)
    list(TRANSFORM header_names PREPEND "${folder}/" OUTPUT_VARIABLE patterns)
    file(GLOB headers CONFIGURE_DEPENDS ${patterns})
    install(FILES ${headers} DESTINATION ${place}/${within})
  endforeach()
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET source FILENAME file)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${common}" OUTPUT_VARIABLE within)
    install(FILES "${source}" DESTINATION ${place}/${within})
    cmake_path(SET installed NORMALIZE "../../../../${place}/${within}/${file}")
    list(APPEND installed_sources "${installed}")
  endforeach()
  foreach(folder IN LISTS includes)
    list(LENGTH installed_includes number)
    list(TRANSFORM header_names PREPEND "PATTERN;" OUTPUT_VARIABLE patterns)
    install(DIRECTORY "${folder}/" DESTINATION ${place}/includes/${number}
      FILES_MATCHING ${patterns})
    list(APPEND installed_includes "../../../../${place}/includes/${number}")
  endforeach()
  set(file ${PROJECT_BINARY_DIR}/installed/plugins/${kind}/${name}.build.json)
  assay_write_sources(${file} "${installed_sources}" "${installed_includes}")
  install(FILES ${file} DESTINATION lib/assay/plugins/${kind})
endfunction()

function(assay_write_sources file sources includes)
  set(links "")
  set(linked_includes "")
  set(linked_definitions "")
  foreach(link IN LISTS PLUGIN_LINK)
    if(NOT TARGET ${link})
      list(APPEND links "${link}")
      continue()
    endif()
    get_target_property(type ${link} TYPE)
    if(NOT type STREQUAL "INTERFACE_LIBRARY")
      list(APPEND links "$<TARGET_FILE:${link}>")
    endif()
    string(APPEND linked_includes
      ", \"$<JOIN:$<TARGET_PROPERTY:${link},INTERFACE_INCLUDE_DIRECTORIES>,\", \">\"")
    string(APPEND linked_definitions
      ", \"$<JOIN:$<TARGET_PROPERTY:${link},INTERFACE_COMPILE_DEFINITIONS>,\", \">\"")
  endforeach()
  foreach(list sources includes PLUGIN_OPTIONS PLUGIN_CUDA_OPTIONS links)
    list(TRANSFORM ${list} REPLACE "([\"\\\\])" "\\\\\\1")
    list(JOIN ${list} "\", \"" ${list})
  endforeach()
  file(GENERATE OUTPUT ${file} CONTENT "{
  \"sources\": [\"${sources}\"],
  \"includes\": [\"${includes}\"${linked_includes}],
  \"options\": [\"${PLUGIN_OPTIONS}\"],
  \"cuda_options\": [\"${PLUGIN_CUDA_OPTIONS}\"],
  \"definitions\": [\"\"${linked_definitions}],
  \"link\": [\"${links}\"]
}
")
endfunction()
