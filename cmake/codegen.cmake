# Runs the code generator at configuration time, when CMake can still see which files come out of it.
# A changed row or generator makes Ninja configure again; an output whose text did not change keeps its time stamp,
# so only what really differs is compiled again. See docs/decisions/0002-codegen-at-configure-time.md.

function(mt_generate)
  set(out "${PROJECT_BINARY_DIR}/generated")
  set(fresh "${PROJECT_BINARY_DIR}/generated.fresh")
  set(manifest "${PROJECT_BINARY_DIR}/generated.manifest")
  file(MAKE_DIRECTORY "${out}")

  file(GLOB inputs CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/ops/*.yaml" "${PROJECT_SOURCE_DIR}/codegen/*.py"
    "${PROJECT_SOURCE_DIR}/abi/*.json"
    "${PROJECT_SOURCE_DIR}/codegen/families/*.py"
    "${PROJECT_SOURCE_DIR}/codegen/*.yaml" "${PROJECT_SOURCE_DIR}/csrc/transforms/batch/*.cpp"
    "${PROJECT_SOURCE_DIR}/csrc/backends/cuda/device/*" "${PROJECT_SOURCE_DIR}/csrc/kernels/*/functors.h"
    "${PROJECT_SOURCE_DIR}/csrc/kernels/common/*.h" "${PROJECT_SOURCE_DIR}/csrc/kernels/special/*")
  set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${inputs})

  file(REMOVE_RECURSE "${fresh}")
  file(MAKE_DIRECTORY "${fresh}")
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E env PYTHONDONTWRITEBYTECODE=1 "${Python_EXECUTABLE}" -m codegen --out "${fresh}"
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    RESULT_VARIABLE status
    ERROR_VARIABLE complaint)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "Code generation failed (python -m codegen, status ${status}):\n${complaint}")
  endif()

  file(GLOB_RECURSE names RELATIVE "${fresh}" "${fresh}/*")
  foreach(name IN LISTS names)
    get_filename_component(folder "${out}/${name}" DIRECTORY)
    file(MAKE_DIRECTORY "${folder}")
    file(COPY_FILE "${fresh}/${name}" "${out}/${name}" ONLY_IF_DIFFERENT)
  endforeach()

  # What the generator wrote last time and does not write now must not be compiled any more.
  if(EXISTS "${manifest}")
    file(STRINGS "${manifest}" old_names)
    foreach(name IN LISTS old_names)
      if(NOT name IN_LIST names)
        file(REMOVE "${out}/${name}")
      endif()
    endforeach()
  endif()
  list(JOIN names "\n" text)
  file(WRITE "${manifest}" "${text}\n")
  file(REMOVE_RECURSE "${fresh}")
endfunction()
