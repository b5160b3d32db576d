# Headers that are read once per library instead of once per file.
#
# Reading the standard library takes a second and a half of the two that most files need, so each library reads it
# once (a precompiled header) and its files start from there. Files include what they use all the same: a build with
# -DMT_PRECOMPILE=OFF proves it. So does one with ccache, which keeps whole results instead: it finds fewer of them behind
# precompiled headers, and may give an old header back.

set(alone ON)
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
  set(alone OFF)
endif()
option(MT_PRECOMPILE "Read the standard library's headers once per library" ${alone})

set(MT_STANDARD_HEADERS
  <algorithm> <array> <atomic> <bit> <cmath> <complex> <cstdint> <cstdlib> <cstring> <functional>
  <initializer_list> <limits> <map> <memory> <mutex> <numeric> <optional> <span> <sstream> <string>
  <string_view> <tuple> <type_traits> <unordered_map> <utility> <vector>)

# mt_precompile(target [more headers, of what the target may use])
function(mt_precompile target)
  if(MT_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${MT_STANDARD_HEADERS} ${ARGN})
  endif()
endfunction()
