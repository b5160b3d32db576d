# Finds OpenBLAS: the pip package scipy-openblas32 first, because it is there wherever the wheel is installed, else
# the system's. Makes the target mt_openblas. The pip package's functions begin with "scipy_" (scipy_cblas_sgemm);
# MT_BLAS_PLAIN_NAMES tells csrc/kernels/openblas/blas.cpp that the system's do not.
# See docs/decisions/0003-openblas-from-pip.md.

add_library(mt_openblas INTERFACE)
set(MT_OPENBLAS_DIR "")

execute_process(
  COMMAND "${Python_EXECUTABLE}" -c "import scipy_openblas32; print(scipy_openblas32.get_lib_dir())"
  OUTPUT_VARIABLE openblas_dir
  OUTPUT_STRIP_TRAILING_WHITESPACE
  RESULT_VARIABLE openblas_status
  ERROR_QUIET)
if(openblas_status EQUAL 0)
  set(MT_OPENBLAS_DIR "${openblas_dir}")
  find_library(openblas_library NAMES scipy_openblas PATHS "${openblas_dir}" NO_DEFAULT_PATH NO_CACHE REQUIRED)
else()
  find_library(openblas_library NAMES openblas NO_CACHE)
  if(NOT openblas_library)
    message(FATAL_ERROR "OpenBLAS was not found: '${Python_EXECUTABLE}' has no scipy_openblas32 and the system has "
                        "no libopenblas. Install one of them: pip install scipy-openblas32")
  endif()
  target_compile_definitions(mt_openblas INTERFACE MT_BLAS_PLAIN_NAMES)
endif()
message(STATUS "OpenBLAS: ${openblas_library}")
target_link_libraries(mt_openblas INTERFACE "${openblas_library}")

# mt_install_rpath(target <folder it is installed to, from site-packages>): where the installed file looks for
# OpenBLAS. The relative path holds wherever both packages share a site-packages folder; the absolute one when they
# do not, as in this source tree or with a --user installation, but not when it names the temporary folder of an
# isolated build.
function(mt_install_rpath target folder)
  if(NOT MT_OPENBLAS_DIR)
    return()
  endif()
  file(RELATIVE_PATH up "/site-packages/${folder}" "/site-packages")
  set(paths "$ORIGIN/${up}scipy_openblas32/lib")
  if(NOT MT_OPENBLAS_DIR MATCHES "pip-build-env|build-env-")
    list(APPEND paths "${MT_OPENBLAS_DIR}")
  endif()
  set_property(TARGET ${target} APPEND PROPERTY INSTALL_RPATH ${paths})
endfunction()
