# The C++ tests: every .cpp of tests/<name>/ becomes one program test_<name>, run by ctest. They are built by the target
# `tests`, not by `all`: who only wants the package does not wait for them.

add_custom_target(tests)

function(mt_add_program name)
  add_executable(${name} EXCLUDE_FROM_ALL ${ARGN})
  add_dependencies(tests ${name})
endfunction()

function(mt_test_program name)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${name}/*.cpp")
  if(NOT sources)
    return()
  endif()
  mt_batch(sources tests/${name} FILES ${sources})
  mt_add_program(test_${name} ${sources})
  target_link_libraries(test_${name} PRIVATE ${ARGN})
  target_compile_options(test_${name} PRIVATE -fPIC)  # like the libraries, whose precompiled header they share
  mt_precompile(test_${name})
  add_test(NAME ${name} COMMAND test_${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300)
endfunction()

mt_test_program(kernels mt_kernels)
mt_test_program(allocator mt_runtime)

# What the compiler made of the loops over elements. A sanitizer's build has none in vectors; one for the whole program has
# no machine code before it is linked.
if(for_work AND NOT MT_SANITIZE)
  add_test(NAME vector_loops COMMAND "${Python_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/tests/kernels/vector_loops.py"
    "${CMAKE_OBJDUMP}" $<TARGET_FILE:mt_kernels>)
  set_tests_properties(vector_loops PROPERTIES TIMEOUT 300)
endif()

# A second accelerator: a folder that registers itself, and everything of the package linked once more with it.
# tests/private_device/test_private_device.py imports the package with this `_C`.
file(GLOB private_device_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/private_device/*.cpp")
set(private_device_binding "${PROJECT_SOURCE_DIR}/tests/private_device/init_private_device.cpp")
list(REMOVE_ITEM private_device_sources "${private_device_binding}")
add_library(private_device STATIC EXCLUDE_FROM_ALL ${private_device_sources})
target_link_libraries(private_device PUBLIC mt_devices mt_cpu mt_ops)
target_include_directories(private_device PUBLIC "${PROJECT_SOURCE_DIR}/tests/private_device")
mt_precompile(private_device <core/dispatch.h>)
add_library(private_C MODULE EXCLUDE_FROM_ALL $<TARGET_OBJECTS:_C> "${private_device_binding}")
target_include_directories(private_C PRIVATE $<TARGET_PROPERTY:_C,INCLUDE_DIRECTORIES>)
target_link_libraries(private_C PRIVATE private_device $<TARGET_PROPERTY:_C,LINK_LIBRARIES>)
target_link_options(private_C PRIVATE "LINKER:--exclude-libs,ALL")
nanobind_extension(private_C)
set_target_properties(private_C PROPERTIES
  OUTPUT_NAME _C LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/private_device")
add_dependencies(tests private_C)

mt_test_program(profiler mt_profiler private_device)
mt_test_program(npu mt_npu mt_ops mt_cpu)  # the table lies beside kernels of operators, whose tables these have
mt_test_program(launch_queue mt_cuda mt_ops mt_cpu)  # likewise
mt_test_program(softnpu acl_op_compiler opapi hccl nnopbase ascendcl Threads::Threads)

# A plain C program, which knows nothing of the project's headers.
enable_language(C)
mt_add_program(softnpu_plain_program "${PROJECT_SOURCE_DIR}/tests/softnpu/plain_program.c")
target_link_libraries(softnpu_plain_program PRIVATE opapi nnopbase ascendcl)
add_test(NAME softnpu_plain_program COMMAND softnpu_plain_program)
set_tests_properties(softnpu_plain_program PROPERTIES TIMEOUT 60)

# Not a test: host time per call, printed.
add_executable(softnpu_host EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/benchmarks/softnpu_host.cpp")
target_link_libraries(softnpu_host PRIVATE opapi nnopbase ascendcl)
add_executable(allocator_hit EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/benchmarks/allocator.cpp")
target_link_libraries(allocator_hit PRIVATE mt_runtime)

# Plain C programs with planted defects, and clean ones: what the sanitizer of the software NPU says about each.
foreach(program planted clean scheduled)
  mt_add_program(sanitizer_${program} "${PROJECT_SOURCE_DIR}/tests/softnpu_sanitizer/${program}.c")
  target_link_libraries(sanitizer_${program} PRIVATE opapi nnopbase ascendcl)
endforeach()
function(mt_planted_defect name report)
  add_test(NAME sanitizer_finds_${name} COMMAND sanitizer_planted ${name})
  set_tests_properties(sanitizer_finds_${name} PROPERTIES
    TIMEOUT 60 ENVIRONMENT SOFTNPU_SANITIZE=1 PASS_REGULAR_EXPRESSION "${report}.*${name} is done")
endfunction()
mt_planted_defect(use_after_free_copy "use after free: aclrtMemcpy reads 64 bytes.*from aclrtMalloc.*freed : aclrtFree")
mt_planted_defect(use_after_free_operator "use after free: aclnnAdd reads 64 bytes.*argument 'other'.*freed : aclrtFree")
mt_planted_defect(use_after_free_with_new_memory "use after free: aclnnAdd reads 64 bytes.*argument 'other'")
mt_planted_defect(free_without_waiting "use after free: aclrtFree frees 64 bytes.*that aclnnAdd may still be using")
mt_planted_defect(out_of_bounds_in_the_padding "out of bounds: aclrtMemset writes 72 bytes.*its last 8 bytes lie behind")
mt_planted_defect(out_of_bounds_operator "out of bounds: aclnnAdd writes 64 bytes.*argument 'out'.*its last 4 bytes")
mt_planted_defect(uninitialised_operator "uninitialised read: aclnnMul reads 64 bytes.*argument 'other'.*64 of them")
mt_planted_defect(uninitialised_copy "uninitialised read: aclrtMemcpy reads 64 bytes.*32 of them were never written")
mt_planted_defect(uninitialised_through_a_copy "uninitialised read: aclnnAdd reads 64 bytes")
mt_planted_defect(race_read_before_written "race: aclnnAdd reads 64 bytes.*that aclnnMul wrote.*aclnnAdd on stream 2.*aclnnMul on stream 1")
mt_planted_defect(race_overwritten_before_read "race: aclrtMemsetAsync writes 64 bytes.*that aclnnAdd read")
mt_planted_defect(race_event_too_early "race: aclnnAdd reads 64 bytes.*that aclnnMul wrote")
mt_planted_defect(race_host_copies_what_is_computed "race: aclrtMemcpy reads 64 bytes.*that aclnnAdd wrote.*aclrtMemcpy in the host")
mt_planted_defect(race_upload_and_compute "race: aclnnAdd reads 64 bytes.*that aclrtMemcpyAsync wrote")
mt_planted_defect(race_in_host_memory "race: aclrtMemcpyAsync reads 64 bytes.*that aclrtMemcpyAsync wrote")
foreach(name two_streams_with_events interleaved_views two_readers asking_for_an_event streams_one_after_the_other
        memory_used_again)
  add_test(NAME sanitizer_accepts_${name} COMMAND sanitizer_clean ${name})
  set_tests_properties(sanitizer_accepts_${name} PROPERTIES
    TIMEOUT 60 ENVIRONMENT SOFTNPU_SANITIZE=1 FAIL_REGULAR_EXPRESSION "softnpu sanitizer")
  foreach(seed 1 2 3)
    add_test(NAME schedule_${seed}_of_${name} COMMAND sanitizer_clean ${name})
    set_tests_properties(schedule_${seed}_of_${name} PROPERTIES TIMEOUT 60 ENVIRONMENT SOFTNPU_SCHEDULE=${seed})
  endforeach()
endforeach()
# Half of the seeds let the second stream go first; which, never changes.
foreach(outcome 2=0 3=1 4=0 5=1)
  string(REPLACE "=" ";" parts ${outcome})
  list(GET parts 0 seed)
  list(GET parts 1 seen)
  add_test(NAME schedule_${seed}_of_a_missing_event COMMAND sanitizer_scheduled)
  set_tests_properties(schedule_${seed}_of_a_missing_event PROPERTIES
    TIMEOUT 60 ENVIRONMENT SOFTNPU_SCHEDULE=${seed} PASS_REGULAR_EXPRESSION "^${seen}\n")
endforeach()

# NCCL's functions over the software NPU, in a folder like that of NVIDIA's package: tests/distributed/test_nccl_groups.py.
add_library(fake_nccl SHARED EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/tests/fake_nccl/nccl.c")
target_link_libraries(fake_nccl PRIVATE hccl)
set_target_properties(fake_nccl PROPERTIES OUTPUT_NAME nccl SOVERSION 2
  LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/fake_nccl/nvidia/nccl/lib")
add_dependencies(tests fake_nccl)
