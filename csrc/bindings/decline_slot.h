// Operators of Python's syntax whose operands are of no use to a tensor.
#pragma once

#include "bindings/errors.h"
#include "core/tensor.h"

namespace mt::bindings {

// What one of the operands makes of it with its __torch_function__, or NotImplemented.
PyObject* decline_slot(const char* special, PyObject* a, PyObject* b);

// What x, an index or an assigned value makes of x[key] or x[key] = value (null when it is read) with its
// __torch_function__; null without an error: nobody wanted to.
PyObject* call_index_override(PyObject* self, PyObject* key, PyObject* value);

// Arrays of numpy leave their operators to tensors. `array == tensor` compares with what they hold, undefined where
// that is no numbers.
bool is_array(PyObject* o);
Tensor array_operand(PyObject* o);

}  // namespace mt::bindings
