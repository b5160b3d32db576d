# The C++ tests: every .cpp of tests/<name>/ becomes one program test_<name>, run by ctest.

function(mt_test_program name)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${name}/*.cpp")
  if(NOT sources)
    return()
  endif()
  add_executable(test_${name} ${sources})
  target_link_libraries(test_${name} PRIVATE ${ARGN})
  add_test(NAME ${name} COMMAND test_${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300)
endfunction()

mt_test_program(kernels mt_kernels)
mt_test_program(allocator mt_runtime)
mt_test_program(profiler mt_profiler)
mt_test_program(softnpu acl_op_compiler opapi hccl nnopbase ascendcl Threads::Threads)

# A plain C program, which knows nothing of the project's headers.
enable_language(C)
add_executable(softnpu_plain_program "${PROJECT_SOURCE_DIR}/tests/softnpu/plain_program.c")
target_link_libraries(softnpu_plain_program PRIVATE opapi nnopbase ascendcl)
add_test(NAME softnpu_plain_program COMMAND softnpu_plain_program)
set_tests_properties(softnpu_plain_program PROPERTIES TIMEOUT 60)

# Not a test: host time per call, printed.
add_executable(softnpu_host EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/benchmarks/softnpu_host.cpp")
target_link_libraries(softnpu_host PRIVATE opapi nnopbase ascendcl)
