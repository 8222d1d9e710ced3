# `cmake --install`: the library as pilum::pilum, its doors as headers, the command, and a package for find_package(pilum).
# The wheel has its own layout: PilumWheel.cmake.
if(DEFINED SKBUILD_SCRIPTS_DIR)
  return()
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# One archive of all layers: who links it needs no list of ours.
set(_layers base io values proto encoding sketch file ingest index source part query)
set(_objects)
foreach(_layer IN LISTS _layers)
  list(APPEND _objects "$<TARGET_OBJECTS:pilum_${_layer}>")
endforeach()
add_library(pilum_package STATIC ${_objects})
set_target_properties(pilum_package PROPERTIES OUTPUT_NAME pilum EXPORT_NAME pilum LINKER_LANGUAGE CXX)
target_compile_features(pilum_package INTERFACE cxx_std_20)
target_include_directories(pilum_package INTERFACE "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
set(_plugins "${CMAKE_INSTALL_LIBDIR}/pilum")
target_link_libraries(pilum_package INTERFACE ArrowCompute::arrow_compute_shared Arrow::arrow_shared fmt::fmt
  protobuf::libprotobuf-lite PkgConfig::ZSTD PkgConfig::LZ4 PkgConfig::XXHASH Threads::Threads ${CMAKE_DL_LIBS})
# What links the library finds the plugins by its own run path (ingest/parquet.cc, io/http/http_load.cc).
target_link_options(pilum_package INTERFACE "$<INSTALL_INTERFACE:LINKER:-rpath,$<INSTALL_PREFIX>/${_plugins}>")

# The doors (docs/ARCHITECTURE.md) and what they include.
set(_headers base/status.h base/types.h base/context.h base/row_set.h base/hash.h io/byte_source.h io/object_store.h
  file/file_reader.h file/file_writer.h ingest/ingest.h source/snapshot.h part/part_store.h query/query.h)
set(_next ${_headers})
while(_next)
  list(POP_FRONT _next _header)
  file(STRINGS "${PROJECT_SOURCE_DIR}/src/pilum/${_header}" _includes REGEX "^#include \"pilum/")
  foreach(_include IN LISTS _includes)
    string(REGEX REPLACE "^#include \"pilum/([^\"]+)\".*" "\\1" _include "${_include}")
    if(NOT _include IN_LIST _headers)
      list(APPEND _headers "${_include}")
      list(APPEND _next "${_include}")
    endif()
  endforeach()
endwhile()
foreach(_header IN LISTS _headers)
  get_filename_component(_folder "${_header}" DIRECTORY)
  install(FILES "src/pilum/${_header}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/pilum/${_folder}")
endforeach()

get_target_property(_arrow Arrow::arrow_shared LOCATION)
get_filename_component(_arrow_dir "${_arrow}" DIRECTORY)
if(PILUM_CLI)
  set_target_properties(pilum PROPERTIES INSTALL_RPATH "$ORIGIN/../${_plugins};${_arrow_dir}")
  install(TARGETS pilum RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
set_target_properties(pilum_parquet PROPERTIES INSTALL_RPATH "${_arrow_dir}")
install(TARGETS pilum_parquet pilum_http LIBRARY DESTINATION "${_plugins}")
install(TARGETS pilum_package EXPORT pilumTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")

set(_config "${CMAKE_INSTALL_LIBDIR}/cmake/pilum")
install(EXPORT pilumTargets NAMESPACE pilum:: DESTINATION "${_config}")
configure_package_config_file(cmake/pilumConfig.cmake.in "${PROJECT_BINARY_DIR}/pilumConfig.cmake" INSTALL_DESTINATION "${_config}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/pilumConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/pilumConfig.cmake" "${PROJECT_BINARY_DIR}/pilumConfigVersion.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/PilumArrow.cmake" DESTINATION "${_config}")
