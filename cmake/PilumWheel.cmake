# The component "wheel": what scikit-build-core packs (pyproject.toml). Layout in site-packages:
#   pilum/*.py, pilum/_pilum.*.so   the package
#   pilum/lib/                      the plugin, and the few system libraries that our binaries link
#   <scripts>/pilum                 the command
# Arrow is not packed: run paths lead to the pyarrow package beside ours.
if(NOT DEFINED SKBUILD_SCRIPTS_DIR OR NOT TARGET _pilum)
  return()
endif()
install(TARGETS _pilum LIBRARY DESTINATION pilum COMPONENT wheel)
install(FILES ${PILUM_PYTHON_FILES} DESTINATION pilum COMPONENT wheel)
install(TARGETS pilum RUNTIME DESTINATION "${SKBUILD_SCRIPTS_DIR}" COMPONENT wheel)
install(TARGETS pilum_parquet pilum_http LIBRARY DESTINATION pilum/lib COMPONENT wheel)

# From <prefix>/bin to site-packages: in a virtual environment or --user, on Debian outside one, with `pip install --target`.
set(_python "python${Python_VERSION_MAJOR}.${Python_VERSION_MINOR}")
set(_command_paths)
foreach(_site "../lib/${_python}/site-packages" "../lib64/${_python}/site-packages" "../lib/${_python}/dist-packages" "..")
  list(APPEND _command_paths "$ORIGIN/${_site}/pilum/lib" "$ORIGIN/${_site}/pyarrow")
endforeach()
set_target_properties(_pilum PROPERTIES INSTALL_RPATH "$ORIGIN/lib;$ORIGIN/../pyarrow")
set_target_properties(pilum_parquet PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/../../pyarrow")
set_target_properties(pilum PROPERTIES INSTALL_RPATH "${_command_paths}")

# A machine that installs the wheel need not have the build's libraries: those go along, under the names they are linked by.
install(CODE "
  file(GET_RUNTIME_DEPENDENCIES EXECUTABLES \"$<TARGET_FILE:pilum>\" MODULES \"$<TARGET_FILE:_pilum>\"
    RESOLVED_DEPENDENCIES_VAR found
    PRE_INCLUDE_REGEXES \"^lib(protobuf-lite|zstd|lz4|xxhash|fmt)[.]so\" PRE_EXCLUDE_REGEXES \".*\")
  foreach(library IN LISTS found)
    get_filename_component(name \"\${library}\" NAME)
    file(REAL_PATH \"\${library}\" real)
    file(COPY_FILE \"\${real}\" \"\${CMAKE_INSTALL_PREFIX}/pilum/lib/\${name}\" ONLY_IF_DIFFERENT)
  endforeach()" COMPONENT wheel)
