# Compiler flags, ccache and sanitizers.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # The precompiled header needs the two sloppiness flags; base_dir lets checkouts share results.
  get_filename_component(_parent "${CMAKE_SOURCE_DIR}" DIRECTORY)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${_parent} CCACHE_NOHASHDIR=1 ${CCACHE_PROGRAM})
endif()
add_compile_options(-Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -Werror=return-type
                    -fPIC -fno-strict-aliasing -fvisibility=hidden -fpch-preprocess)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O1")
if(PILUM_SANITIZE)
  # What is left out of `undefined` the address sanitizer finds too, and a quarter of the time to compile goes there.
  add_compile_options(-fsanitize=${PILUM_SANITIZE} -fno-sanitize-recover=all -fno-sanitize=null,vptr,object-size
                      -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${PILUM_SANITIZE})
endif()
