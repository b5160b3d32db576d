// What counts as True or False: Python's and numpy's, which is no number.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstring>

namespace mt::bindings {

inline bool is_boolean(PyObject* object) {
  return PyBool_Check(object) || std::strcmp(Py_TYPE(object)->tp_name, "numpy.bool") == 0 ||
         std::strcmp(Py_TYPE(object)->tp_name, "numpy.bool_") == 0;
}

}  // namespace mt::bindings
