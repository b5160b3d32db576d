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
mt_test_program(softnpu acl_op_compiler opapi nnopbase ascendcl Threads::Threads)
