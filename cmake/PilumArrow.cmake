# pilum_find_arrow(): Arrow C++ from an installed CMake package, else from the pyarrow wheel of PILUM's Python.
# Either way these imported targets exist: Arrow::arrow_shared ArrowCompute::arrow_compute_shared Parquet::parquet_shared
# The wheel ships no CMake config and no unversioned .so, so the versioned files are linked themselves.
set(PILUM_ARROW_PROVIDER "auto" CACHE STRING "auto, package or wheel")

function(_pilum_import target file include_dir)
  add_library(${target} SHARED IMPORTED GLOBAL)
  get_filename_component(soname "${file}" NAME)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${file}" IMPORTED_SONAME "${soname}"
    INTERFACE_INCLUDE_DIRECTORIES "${include_dir}" INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${include_dir}")
endfunction()

macro(pilum_find_arrow)
  if(NOT PILUM_ARROW_PROVIDER STREQUAL "wheel")
    find_package(Arrow 26 CONFIG QUIET)
    find_package(ArrowCompute CONFIG QUIET)
    find_package(Parquet CONFIG QUIET)
  endif()
  if(NOT TARGET Arrow::arrow_shared)
    execute_process(COMMAND "${Python_EXECUTABLE}" -c
      "import importlib.util,os;s=importlib.util.find_spec('pyarrow');print(os.path.dirname(s.origin) if s else '')"
      OUTPUT_VARIABLE PILUM_PYARROW_DIR OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT PILUM_PYARROW_DIR)
      message(FATAL_ERROR "Arrow C++ not found: ${Python_EXECUTABLE} has no pyarrow. Run `tools/setup`, "
        "or pass -DPython_EXECUTABLE=…/.venv/bin/python.")
    endif()
    file(STRINGS "${PILUM_PYARROW_DIR}/include/arrow/util/config.h" _line REGEX "ARROW_SO_VERSION ")
    string(REGEX MATCH "\"([0-9]+)\"" _ "${_line}")
    set(PILUM_ARROW_SO "${CMAKE_MATCH_1}")
    if(NOT PILUM_ARROW_SO EQUAL 2600)
      message(FATAL_ERROR "pyarrow in ${PILUM_PYARROW_DIR} has Arrow so version ${PILUM_ARROW_SO}; Pilum is built against 2600 (pyarrow 26)")
    endif()
    set(_inc "${PILUM_PYARROW_DIR}/include")
    _pilum_import(Arrow::arrow_shared "${PILUM_PYARROW_DIR}/libarrow.so.${PILUM_ARROW_SO}" "${_inc}")
    _pilum_import(ArrowCompute::arrow_compute_shared "${PILUM_PYARROW_DIR}/libarrow_compute.so.${PILUM_ARROW_SO}" "${_inc}")
    _pilum_import(Parquet::parquet_shared "${PILUM_PYARROW_DIR}/libparquet.so.${PILUM_ARROW_SO}" "${_inc}")
    set_property(TARGET ArrowCompute::arrow_compute_shared Parquet::parquet_shared
                 PROPERTY INTERFACE_LINK_LIBRARIES Arrow::arrow_shared)
    message(STATUS "Arrow ${PILUM_ARROW_SO} from the wheel in ${PILUM_PYARROW_DIR}")
  endif()
endmacro()
