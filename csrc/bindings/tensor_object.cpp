#include "bindings/tensor_object.h"

#include <structmember.h>

#include <vector>

#include "bindings/errors.h"
#include "bindings/parser.h"
#include "bindings/python_lock.h"
#include "core/dispatch.h"
#include "core/intercept.h"

namespace mt::bindings {

PyTypeObject* g_tensor_type = nullptr;
PyTypeObject* g_plain_type = nullptr;

namespace {

constexpr int kFreeListLimit = 512;
TensorObject* g_free[kFreeListLimit];
int g_free_count = 0;

TensorObject* object_of(PyObject* self) { return reinterpret_cast<TensorObject*>(self); }

bool python_could_tell(TensorObject* self) {
  return self->dict || self->weakrefs || Py_TYPE(self) != g_tensor_type;
}

void dealloc(PyObject* object) {
  TensorObject* self = object_of(object);
  TensorImpl* impl = self->impl;
  if (PyObject_GC_IsTracked(object)) PyObject_GC_UnTrack(object);
  if (impl) {
    if (impl->refs.load(std::memory_order_acquire) > 1 && python_could_tell(self)) {
      // Resurrect: the impl owns the object from here on.
      Py_SET_REFCNT(object, 1);
      impl->owns_python_object = true;
      if (self->dict) PyObject_GC_Track(object);
      Ref<TensorImpl>::release(impl);
      return;
    }
    impl->python_object = nullptr;
    self->impl = nullptr;
    Ref<TensorImpl>::release(impl);
  }
  if (self->weakrefs) PyObject_ClearWeakRefs(object);
  Py_CLEAR(self->dict);
  PyTypeObject* type = Py_TYPE(object);
  if (type == g_tensor_type && g_free_count < kFreeListLimit) {
    g_free[g_free_count++] = self;
  } else {
    type->tp_free(object);
  }
  Py_DECREF(type);
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(object_of(object)->dict);
  return 0;
}

int clear(PyObject* object) {
  Py_CLEAR(object_of(object)->dict);
  return 0;
}

void track_if_needed(PyObject* object) {
  if (object_of(object)->dict && !PyObject_GC_IsTracked(object)) PyObject_GC_Track(object);
}

// Tensors are created untracked; the first attribute makes cycles possible.
int set_attribute(PyObject* object, PyObject* name, PyObject* value) {
  const int result = PyObject_GenericSetAttr(object, name, value);
  track_if_needed(object);
  return result;
}

PyObject* get_dict(PyObject* object, void* closure) {
  PyObject* dict = PyObject_GenericGetDict(object, closure);
  track_if_needed(object);
  return dict;
}

Py_hash_t hash(PyObject* object) { return _Py_HashPointer(object); }

// Tensor(...), the legacy constructor, is written in Python; it is installed as `_C.Tensor._legacy_new`.
PyObject* new_tensor_object(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject* legacy = PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "_legacy_new");
  if (!legacy) return nullptr;
  PyObject* made = PyObject_Call(legacy, args, kwargs);
  Py_DECREF(legacy);
  if (!made || type == g_tensor_type) return made;
  PyObject* result = guarded([&] { return wrap_as(type, shallow_copy(tensor_of(made))); });
  Py_DECREF(made);
  return result;
}

Py_ssize_t length(PyObject* self) {
  const Tensor& t = tensor_of(self);
  if (t.dim() == 0) {
    PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
    return -1;
  }
  return Py_ssize_t(t.sizes()[0]);
}

int truth(PyObject* self) {
  const Tensor& t = tensor_of(self);
  if (t.numel() != 1) {
    PyErr_SetString(PyExc_RuntimeError,
                    t.numel() == 0 ? "Boolean value of Tensor with no values is ambiguous"
                                   : "Boolean value of Tensor with more than one value is ambiguous");
    return -1;
  }
  return guarded_int([&] { return int(item(t).to<bool>()); });
}

// The one element, which must not lose an imaginary part.
Scalar real_item(PyObject* self, const char* type) {
  MT_CHECK_AS(value, tensor_of(self).numel() == 1,
              "only one element tensors can be converted to Python scalars");
  const Scalar value = item(tensor_of(self));
  MT_CHECK(!value.is_complex() || value.to<complex128>().imag() == 0, "value cannot be converted to type ",
           type, " without overflow");
  return value;
}

PyObject* to_int(PyObject* self) {
  return guarded([&]() -> PyObject* {
    const Scalar value = real_item(self, "int64_t");
    if (!value.is_floating()) return PyLong_FromLongLong(value.to<int64_t>());
    return PyLong_FromDouble(value.to<double>());
  });
}
PyObject* to_float(PyObject* self) {
  return guarded([&] { return PyFloat_FromDouble(real_item(self, "double").to<double>()); });
}
PyObject* to_index(PyObject* self) {
  const Tensor& t = tensor_of(self);
  if (t.numel() != 1 || !is_integral(t.dtype(), true)) {
    PyErr_SetString(PyExc_TypeError, "only integer tensors of a single element can be converted to an index");
    return nullptr;
  }
  return to_int(self);
}

PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(TensorObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

void release_object(void* pointer) {
  const PythonLock gil;
  TensorObject* self = static_cast<TensorObject*>(pointer);
  self->impl = nullptr;  // the impl is being destroyed by our caller
  Py_DECREF(reinterpret_cast<PyObject*>(self));
}

}  // namespace

PyObject* wrap_new(TensorImpl* impl) {
  TensorObject* self;
  if (g_free_count) [[likely]] {
    self = g_free[--g_free_count];
    Py_SET_REFCNT(reinterpret_cast<PyObject*>(self), 1);
    Py_INCREF(g_tensor_type);
  } else {
    self = PyObject_GC_New(TensorObject, g_tensor_type);
    if (!self) {
      Ref<TensorImpl>::release(impl);
      return nullptr;
    }
    self->dict = nullptr;
    self->weakrefs = nullptr;
  }
  self->impl = impl;
  impl->python_object = self;
  return reinterpret_cast<PyObject*>(self);
}

PyObject* wrap_flipped(TensorImpl* impl) {
  // Our reference to the impl becomes the object's; the impl's reference to the object becomes the caller's.
  impl->owns_python_object = false;
  return static_cast<PyObject*>(impl->python_object);
}

bool handles_operators(PyTypeObject* type) {
  static PyObject* name = PyUnicode_InternFromString("__torch_dispatch__");
  PyObject* found = type == g_tensor_type ? nullptr : _PyType_Lookup(type, name);
  return found && found != _PyType_Lookup(g_tensor_type, name);
}

PyObject* wrap_as(PyTypeObject* type, Tensor&& tensor) {
  MT_CHECK(!tensor.impl()->python_object, "the tensor already has a Python object of another type");
  if (handles_operators(type)) [[unlikely]]
    tensor.impl()->special |= kHandled;
  PyObject* object = type->tp_alloc(type, 0);
  if (!object) return nullptr;
  TensorObject* self = object_of(object);
  self->impl = tensor.detach_impl();
  self->impl->python_object = self;
  return object;
}

bool create_tensor_type(PyObject* module) {
  static std::vector<PyMethodDef> methods;
  add_generated_methods(methods);
  add_methods(methods);
  methods.push_back({nullptr, nullptr, 0, nullptr});
  static std::vector<PyGetSetDef> properties;
  for (PyGetSetDef* p = tensor_properties; p->name; ++p) properties.push_back(*p);
  properties.push_back({"__dict__", get_dict, PyObject_GenericSetDict, nullptr, nullptr});
  properties.push_back({nullptr, nullptr, nullptr, nullptr, nullptr});

  std::vector<PyType_Slot> slots = {
      {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
      {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(clear)},
      {Py_tp_setattro, reinterpret_cast<void*>(set_attribute)},
      {Py_tp_hash, reinterpret_cast<void*>(hash)},
      {Py_tp_new, reinterpret_cast<void*>(new_tensor_object)},
      {Py_tp_members, members},
      {Py_tp_methods, methods.data()},
      {Py_tp_getset, properties.data()},
      {Py_mp_length, reinterpret_cast<void*>(length)},
      {Py_sq_length, reinterpret_cast<void*>(length)},
      {Py_mp_subscript, reinterpret_cast<void*>(subscript)},
      {Py_mp_ass_subscript, reinterpret_cast<void*>(assign_subscript)},
      {Py_nb_bool, reinterpret_cast<void*>(truth)},
      {Py_nb_int, reinterpret_cast<void*>(to_int)},
      {Py_nb_float, reinterpret_cast<void*>(to_float)},
      {Py_nb_index, reinterpret_cast<void*>(to_index)},
  };
  add_generated_slots(slots);
  slots.push_back({0, nullptr});
  PyType_Spec spec = {"mindtorch_v2.Tensor", int(sizeof(TensorObject)), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots.data()};
  g_tensor_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!g_tensor_type) return false;
  g_tensor_type->tp_name = "Tensor";  // how Python's messages call it; __module__ is set already
  g_plain_type = g_tensor_type;
  release_python_object = release_object;
  return PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(g_tensor_type)) == 0;
}

}  // namespace mt::bindings
