// Operators of Python's syntax whose operands are of no use to a tensor.
#pragma once

#include "bindings/errors.h"

namespace mt::bindings {

// What one of the operands makes of it with its __torch_function__, or NotImplemented.
PyObject* decline_slot(const char* special, PyObject* a, PyObject* b);

}  // namespace mt::bindings
