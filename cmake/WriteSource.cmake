# Writes the commit of a build: cmake -D SOURCE=folder -D FILE=source.json -P WriteSource.cmake. An
# unchanged file keeps its time; a folder without history gets none.
find_package(Git QUIET)
set(commit "")
if(GIT_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} rev-parse HEAD
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} ls-files --error-unmatch CMakeLists.txt
    OUTPUT_QUIET ERROR_QUIET RESULT_VARIABLE not_its_own)
  if(failed OR not_its_own)
    set(commit "")
  endif()
endif()
if(commit STREQUAL "")
  file(REMOVE ${FILE})
  return()
endif()

execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} status --porcelain --untracked-files=no
  OUTPUT_VARIABLE changes ERROR_QUIET RESULT_VARIABLE failed)
# Untracked sources are built, too.
execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} status --porcelain -- framework plugins cmake
  OUTPUT_VARIABLE added ERROR_QUIET)
string(APPEND changes "${added}")
if(failed)
  set(clean null)
elseif(changes STREQUAL "")
  set(clean true)
else()
  set(clean false)
endif()
set(text "{\"commit\": \"${commit}\", \"clean\": ${clean}}\n")
set(before "")
if(EXISTS ${FILE})
  file(READ ${FILE} before)
endif()
if(NOT text STREQUAL before)
  file(WRITE ${FILE} "${text}")
endif()
