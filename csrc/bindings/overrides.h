// __torch_function__: operators given a subclass of Tensor (or anything else that has the method) ask it first.
#pragma once

#include <map>

#include "bindings/tensor_object.h"
#include "core/thread_state.h"

namespace mt::bindings {

// Whether the type of `object` wants to be asked. Parameter and others switch it off with
// _C._disabled_torch_function_impl.
bool wants_override(PyObject* object);

// Asks the arguments that want to be asked, subclasses first. Null without an error: nobody wanted to.
// `name` is the operator's, `self` is null for functions.
PyObject* call_override(const char* name, PyObject* self, PyObject* const* args, Py_ssize_t count,
                        PyObject* keywords);
// The same for an operator of Python's syntax: Tensor.__add__ with (a, b).
PyObject* call_slot_override(const char* special, PyObject* a, PyObject* b);

inline bool maybe_overridden(PyObject* o) { return Py_TYPE(o) != g_plain_type && is_tensor(o); }

// Whether this thread's modes, or one of the objects (or of what a list among them holds), want to be asked.
bool somebody_asks(PyObject* objects);
// Asks them for the result of a function written in Python; an error if all decline.
PyObject* ask_for(PyObject* function, const char* name, PyObject* objects, PyObject* args, PyObject* kwargs);

// Function modes (overrides.TorchFunctionMode): how many this thread has, and what asks the innermost.
// Returns the number before.
int set_function_modes(int count);
void set_mode_handler(PyObject* handler);

// Fills the table that finds a function's Python object by its operator's name.
void remember_function(const std::string& name, PyObject* function);

}  // namespace mt::bindings
