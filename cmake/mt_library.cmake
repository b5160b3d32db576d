# One library per csrc/ folder, which sees only the folders it may use.
#
# Note [Include trees]
# Includes are spelled from csrc/ ("core/tensor.h"), so putting csrc/ itself on the include path would let every
# folder include every other. Instead each target gets a folder in the build tree that holds symbolic links to the
# csrc/ folders it may use, and nothing else. An include that points upward then fails to compile with
# "No such file". See docs/decisions/0001-include-trees.md.

# mt_library(name DIR <folder of csrc/> [USES <targets>] [GENERATED <folders of build/generated/>]
#            [PRECOMPILED <as for mt_precompile>] [LINKS <other libraries>] [LOOPS] [ALONE <folders>])
# LOOPS: it has loops over elements, see mt_has_loops. ALONE: folders, or files of csrc/, that are never compiled together
# with others, because they are large or use the same short names for different things.
# Builds every .cpp of the folder, of its sub-folders, and of the generated folders. USES are other mt_library targets:
# they are linked and their folders become visible, with everything that they use in turn.
function(mt_library name)
  cmake_parse_arguments(ARG "LOOPS" "DIR" "USES;GENERATED;ALONE;PRECOMPILED;LINKS" ${ARGN})

  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/csrc/${ARG_DIR}/*.cpp"
    "${PROJECT_SOURCE_DIR}/csrc/${ARG_DIR}/*/*.cpp")
  if(NOT ARG_DIR IN_LIST ARG_ALONE)
    mt_batch(sources ${ARG_DIR} ALONE ${ARG_ALONE} FILES ${sources})
  endif()
  foreach(folder IN LISTS ARG_GENERATED)
    file(GLOB generated_sources "${PROJECT_BINARY_DIR}/generated/${folder}/*.cpp")
    if(NOT generated/${folder} IN_LIST ARG_ALONE)
      mt_batch(generated_sources generated/${folder} FILES ${generated_sources})
    endif()
    list(APPEND sources ${generated_sources})
  endforeach()

  set(visible "${ARG_DIR}")
  foreach(used IN LISTS ARG_USES)
    get_property(used_visible GLOBAL PROPERTY "${used}_visible")
    list(APPEND visible ${used_visible})
  endforeach()
  list(REMOVE_DUPLICATES visible)
  set_property(GLOBAL PROPERTY "${name}_visible" ${visible})
  mt_include_tree(${name} tree ${visible})

  if(sources)
    add_library(${name} STATIC ${sources})
    target_include_directories(${name} PUBLIC "${tree}")
    target_link_libraries(${name} PUBLIC ${ARG_USES} ${ARG_LINKS})
    if(ARG_LOOPS)
      mt_has_loops(${name})
    endif()
    mt_precompile(${name} ${ARG_PRECOMPILED})
  else()
    # A folder of headers only.
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE "${tree}")
    target_link_libraries(${name} INTERFACE ${ARG_USES} ${ARG_LINKS})
  endif()
endfunction()

# mt_include_tree(name result <folders of csrc/>): makes the links and stores the tree's path in `result`.
# The tree is made afresh at every configuration, so that a permission taken away is really gone.
function(mt_include_tree name result)
  set(tree "${PROJECT_BINARY_DIR}/include_trees/${name}")
  file(REMOVE_RECURSE "${tree}")
  foreach(folder IN LISTS ARGN)
    get_filename_component(parent "${tree}/${folder}" DIRECTORY)
    file(MAKE_DIRECTORY "${parent}")
    file(CREATE_LINK "${PROJECT_SOURCE_DIR}/csrc/${folder}" "${tree}/${folder}" SYMBOLIC)
  endforeach()
  file(CREATE_LINK "${PROJECT_BINARY_DIR}/generated" "${tree}/generated" SYMBOLIC)
  set(${result} "${tree}" PARENT_SCOPE)
endfunction()

# In a build for work, seconds until something runs again count for more than the last tenth of its speed; in one with a
# sanitizer, too.
if(MT_SANITIZE OR (CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT MT_WHOLE_PROGRAM))
  set(for_work ON)
endif()

# mt_batch(result name [ALONE <files of csrc/>] FILES <files>): stores in `result` what is to be compiled instead of FILES. In
# a build for work that are files in build/batches/<name> which include four of them each, so that what they share is read and
# instantiated once. What two of them define in unnamed namespaces must then have two names.
function(mt_batch result name)
  cmake_parse_arguments(ARG "" "" "ALONE;FILES" ${ARGN})
  set(batches "")
  set(files ${ARG_FILES})
  set(alone "")
  foreach(file IN LISTS ARG_ALONE)
    set(file "${PROJECT_SOURCE_DIR}/csrc/${file}")
    if(file IN_LIST files)
      list(REMOVE_ITEM files "${file}")
      list(APPEND alone "${file}")
    endif()
  endforeach()
  while(for_work AND files)
    list(LENGTH batches index)
    set(text "")
    foreach(turn RANGE 3)
      list(POP_FRONT files file)
      if(file)
        string(APPEND text "#include \"${file}\"\n")
      endif()
    endforeach()
    set(batch "${PROJECT_BINARY_DIR}/batches/${name}/batch_${index}.cpp")
    file(CONFIGURE OUTPUT "${batch}" CONTENT "${text}" @ONLY)  # rewritten only if it changes
    list(APPEND batches "${batch}")
  endwhile()
  set(${result} ${batches} ${files} ${alone} PARENT_SCOPE)
endfunction()

# mt_has_loops(target): compiled with -O3 in every release. Whatever includes the templates of csrc/kernels must be: the
# linker keeps one copy of a function that several files instantiate, and it may be any of them.
# Selects must stay selects: GCC 13 and later thread jumps through chains of them (atan2, log1p, amax), and a loop with
# jumps is not put into vectors. The test vector_loops looks at the machine code.
function(mt_has_loops target)
  set_property(TARGET ${target} PROPERTY MT_LOOPS ON)
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT MT_SANITIZE)
    target_compile_options(${target} PRIVATE -O3)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${target} PRIVATE -fno-thread-jumps)
    endif()
  endif()
endfunction()

# In a build for work, loops over elements are compiled for the level of this machine alone (cpu_features.h): the other two
# take as long again, and nothing here would run them.
if(for_work AND NOT CMAKE_CROSSCOMPILING AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  file(STRINGS /proc/cpuinfo features REGEX "^flags" LIMIT_COUNT 1)
  set(level 0)
  if(features MATCHES " avx2 " AND features MATCHES " fma " AND features MATCHES " f16c " AND features MATCHES " bmi1 "
     AND features MATCHES " bmi2 ")
    set(level 1)
    if(features MATCHES " avx512f " AND features MATCHES " avx512bw " AND features MATCHES " avx512dq "
       AND features MATCHES " avx512vl ")
      set(level 2)
    endif()
  endif()
  add_compile_definitions(MT_LEVEL=${level})
  message(STATUS "Loops over elements are compiled for level ${level} (kernels/common/cpu_features.h), which this machine has")
endif()
