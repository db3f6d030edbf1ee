# Libraries of the torch-free part, static where possible, so that the host runs on machines
# without them.
set(Boost_USE_STATIC_LIBS ON)
find_package(Boost 1.74 REQUIRED COMPONENTS program_options)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(fmt REQUIRED)
if(fmt_VERSION VERSION_LESS 9 OR NOT fmt_VERSION VERSION_LESS 10)
  set(ASSAY_FMT fmt::fmt-header-only)  # otherwise framework/base/fmt_library.cpp
endif()
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(tl-expected REQUIRED)

# SQLiteCpp's own target pulls in the shared libsqlite3: name the archives.
find_library(SQLITECPP_ARCHIVE NAMES libSQLiteCpp.a REQUIRED)
find_library(SQLITE3_ARCHIVE NAMES libsqlite3.a REQUIRED)
find_library(LIBMD_ARCHIVE NAMES libmd.a REQUIRED)
find_library(YAML_CPP_ARCHIVE NAMES libyaml-cpp.a REQUIRED)
