// The Python type `Tensor`: a raw CPython heap type, because a class from a binding generator would cost three
// times as much per operator.
//
// Note [Python identity]
// A TensorImpl and its Python object know each other. Normally the object owns a reference to the impl. When the
// object's last Python reference goes while C++ still holds the impl (a graph, a `.grad`), the object is simply
// dropped and made anew later — unless Python could tell the difference: it has a __dict__, weak references or a
// type of its own. Then ownership flips: the impl keeps the object alive until it is wrapped again or dies.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <map>
#include <string>
#include <vector>

#include "core/tensor.h"

namespace mt::bindings {

struct TensorObject {
  PyObject_HEAD TensorImpl* impl;
  PyObject* dict;
  PyObject* weakrefs;
};

extern PyTypeObject* g_tensor_type;
// The type whose objects nobody needs to be asked about: Tensor itself, or null while a function mode is on anywhere
// (see overrides.h). One comparison decides both.
extern PyTypeObject* g_plain_type;

inline bool is_tensor(PyObject* object) {
  return Py_TYPE(object) == g_tensor_type || PyType_IsSubtype(Py_TYPE(object), g_tensor_type);
}
// A borrowed view of the object's tensor: no reference is counted.
inline const Tensor& tensor_of(PyObject* object) {
  static_assert(sizeof(Tensor) == sizeof(TensorImpl*));
  return reinterpret_cast<const Tensor&>(reinterpret_cast<TensorObject*>(object)->impl);
}

PyObject* wrap_new(TensorImpl* impl);  // takes the reference over; makes a Python object
PyObject* wrap_flipped(TensorImpl* impl);

inline PyObject* wrap(Tensor&& tensor) {
  TensorImpl* impl = tensor.detach_impl();
  if (!impl) Py_RETURN_NONE;
  if (!impl->python_object) [[likely]]
    return wrap_new(impl);
  if (impl->owns_python_object) return wrap_flipped(impl);
  PyObject* object = static_cast<PyObject*>(impl->python_object);
  Py_INCREF(object);
  Ref<TensorImpl>::release(impl);
  return object;
}
inline PyObject* wrap(const Tensor& tensor) { return wrap(Tensor(tensor)); }

// Whether a subclass of Tensor has a __torch_dispatch__ of its own.
bool handles_operators(PyTypeObject* type);
// A tensor of a Python subclass over `impl` (Parameter and users' own).
PyObject* wrap_as(PyTypeObject* type, Tensor&& tensor);

// Creates the type and adds it to the module; `methods` are merged from the generated and hand-written tables.
bool create_tensor_type(PyObject* module);

// Tables the type is made of.
using FunctionTables = std::map<std::string, std::vector<PyMethodDef>>;  // by module: "", "linalg", …
void add_generated_functions(FunctionTables& tables);                    // generated/bindings/index.cpp
void add_generated_methods(std::vector<PyMethodDef>& methods);
void add_generated_slots(std::vector<PyType_Slot>& slots);
void add_methods(std::vector<PyMethodDef>& methods);  // tensor_methods.cpp
extern PyGetSetDef tensor_properties[];               // tensor_properties.cpp
// `Tensor.is_<name>`: whether it is on a device of the type.
void add_device_property(const std::string& name, DeviceType type);
PyObject* subscript(PyObject* self, PyObject* index);  // indexing.cpp
int assign_subscript(PyObject* self, PyObject* index, PyObject* value);

}  // namespace mt::bindings
