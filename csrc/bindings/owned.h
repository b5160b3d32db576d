// One reference to a Python object, given back at the end of its scope.
#pragma once

#include <utility>

#include "bindings/errors.h"

namespace mt::bindings {

class Owned {
 public:
  // Takes over the reference that a call to Python returned; null means that a Python error is set.
  explicit Owned(PyObject* object) : object(object) {
    if (!object) throw PythonError();
  }
  Owned(Owned&& other) noexcept : object(std::exchange(other.object, nullptr)) {}
  Owned& operator=(Owned&&) = delete;
  ~Owned() { Py_XDECREF(object); }

  PyObject* release() { return std::exchange(object, nullptr); }

  PyObject* object;
};

}  // namespace mt::bindings
