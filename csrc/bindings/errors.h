// mt::Error as Python exceptions.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <exception>

#include "base/error.h"

namespace mt::bindings {

// The Python error is set already; unwinds to the nearest guard.
struct PythonError : std::exception {
  const char* what() const noexcept override { return "a Python exception is set"; }
};

extern PyObject* g_out_of_memory_error;
extern PyObject* g_accelerator_error;
extern PyObject* g_linear_algebra_error;  // torch.linalg.LinAlgError

void set_python_error();  // call inside a catch block: translates the exception in flight

// Runs `body`; a C++ exception becomes a Python one and the result null.
template <class Body>
PyObject* guarded(Body&& body) {
  try {
    return body();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

template <class Body>
int guarded_int(Body&& body) {
  try {
    return body();
  } catch (...) {
    set_python_error();
    return -1;
  }
}

}  // namespace mt::bindings
