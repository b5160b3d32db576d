# Headers that are read once instead of once per file.
#
# Reading the standard library takes a second and a half of the two that most files need, so it is read once (a precompiled
# header) for all libraries that want the same headers and compile them alike. Files include what they use all the same: a
# build with -DMT_PRECOMPILE=OFF proves it. So does one with ccache, which keeps whole results instead: it finds fewer of
# them behind precompiled headers, and may give an old header back.

set(alone ON)
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
  set(alone OFF)
endif()
option(MT_PRECOMPILE "Read the standard library's headers once" ${alone})

set(MT_STANDARD_HEADERS
  <algorithm> <array> <atomic> <bit> <cmath> <complex> <cstdint> <cstdlib> <cstring> <functional>
  <initializer_list> <limits> <map> <memory> <mutex> <numeric> <optional> <span> <sstream> <string>
  <string_view> <tuple> <type_traits> <unordered_map> <utility> <vector>)

# mt_precompile(target [more headers, of what the target may use] [AFTER <targets that make headers>])
# The first target that asks for some headers lends its include folders and options to the library of nothing that holds
# them; nobody waits for more than that. What has loops over elements is optimised otherwise, and has its own.
function(mt_precompile target)
  cmake_parse_arguments(ARG "" "" "AFTER" ${ARGN})
  if(NOT MT_PRECOMPILE)
    return()
  endif()
  get_target_property(loops ${target} MT_LOOPS)
  string(MAKE_C_IDENTIFIER "${loops} ${ARG_UNPARSED_ARGUMENTS}" key)
  string(SHA1 key "${key}")
  string(SUBSTRING ${key} 0 8 key)
  set(shared precompiled_${key})
  if(NOT TARGET ${shared})
    set(nothing "${PROJECT_BINARY_DIR}/precompiled/${key}.cpp")
    file(CONFIGURE OUTPUT "${nothing}" CONTENT "" @ONLY)
    add_library(${shared} OBJECT EXCLUDE_FROM_ALL "${nothing}")
    foreach(property INCLUDE_DIRECTORIES COMPILE_DEFINITIONS COMPILE_OPTIONS)
      set_property(TARGET ${shared} APPEND PROPERTY ${property} $<TARGET_PROPERTY:${target},${property}>)
    endforeach()
    target_precompile_headers(${shared} PRIVATE ${MT_STANDARD_HEADERS} ${ARG_UNPARSED_ARGUMENTS})
    if(ARG_AFTER)
      add_dependencies(${shared} ${ARG_AFTER})
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${shared})
endfunction()
