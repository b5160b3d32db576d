// __torch_function__ for methods and attributes of Tensor that are no operators (those ask in overrides.h).
#pragma once

#include "bindings/tensor_object.h"

namespace mt::bindings {

// A subclass that has switched it off and is as common as Tensor: Parameter. Null while a function mode is on.
extern PyTypeObject* g_quiet_type;
void set_quiet_type(PyTypeObject* type);

// Whether somebody may want to be asked about an object that is a tensor: two comparisons for those of the two types that
// almost all have.
inline bool may_ask(PyObject* o) { return Py_TYPE(o) != g_plain_type && Py_TYPE(o) != g_quiet_type; }
// call_override and the like for methods and attributes that are no operators. A null result says with `failed` whether
// an error is set or nobody wanted to.
PyObject* ask_method(const char* name, PyObject* self, PyObject* const* args, Py_ssize_t count,
                     PyObject* keywords, bool& failed);
// Tensor.<name>.__get__(self), or with a value Tensor.<name>.__set__(self, value).
PyObject* ask_attribute(const char* name, PyObject* self, PyObject* value, bool& failed);

}  // namespace mt::bindings
