#include "bindings/tensor_object.h"

#include <structmember.h>

#include <algorithm>
#include <vector>

#include "autograd/accumulate.h"
#include "bindings/asking.h"
#include "bindings/errors.h"
#include "bindings/node_object.h"
#include "bindings/parser.h"
#include "bindings/python_lock.h"
#include "core/dispatch.h"
#include "core/intercept.h"
#include "core/transform.h"
#include "generated/ops/view.h"

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

// While C++ still has the tensor, its object stays: the tensor owns it from here on.
bool outlives(TensorObject* self) {
  return self->impl && self->impl->refs.load(std::memory_order_acquire) > 1 && python_could_tell(self);
}
void hand_to_tensor(TensorObject* self) {
  TensorImpl* impl = self->impl;
  impl->owns_python_object = true;
  Ref<TensorImpl>::release(impl);
}

// Of a subclass, whose own slots Python empties before it calls dealloc.
void finalize(PyObject* object) {
  TensorObject* self = object_of(object);
  if (!outlives(self)) return;
  Py_INCREF(object);
  hand_to_tensor(self);
}

[[gnu::hot]] void dealloc(PyObject* object) {
  TensorObject* self = object_of(object);
  TensorImpl* impl = self->impl;
  if (PyObject_GC_IsTracked(object)) PyObject_GC_UnTrack(object);
  if (impl) {
    if (outlives(self)) {
      Py_SET_REFCNT(object, 1);
      if (self->dict) PyObject_GC_Track(object);
      hand_to_tensor(self);
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

// Note [Cycles through the graph] in node_object.h: the nodes that a tensor which only its object owns may own alone.
template <class Each>
int each_node(PyObject* object, Each each) {
  TensorImpl* impl = object_of(object)->impl;
  if (!impl || impl->refs.load(std::memory_order_acquire) != 1) return 0;
  if (impl->grad_fn)
    if (const int found = each(static_cast<autograd::Node*>(impl->grad_fn))) return found;
  auto* state = static_cast<autograd::LeafState*>(impl->grad_state);
  return state && state->accumulator ? each(static_cast<autograd::Node*>(state->accumulator.get())) : 0;
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  // Held from C++ as well, it must not be taken for a part of a cycle that nobody reaches.
  const TensorImpl* impl = object_of(object)->impl;
  if (impl && impl->refs.load(std::memory_order_acquire) > 1) return 0;
  Py_VISIT(object_of(object)->dict);
  return each_node(object, [&](autograd::Node* node) { return traverse_node(node, visit, arg); });
}

int clear(PyObject* object) {
  TensorImpl* impl = object_of(object)->impl;
  if (impl && impl->refs.load(std::memory_order_acquire) > 1) return 0;  // C++ will give it to Python again
  Py_CLEAR(object_of(object)->dict);
  each_node(object, [](autograd::Node* node) { return clear_node(node), 0; });
  // The context of a Function goes with its node.
  if (impl && impl->refs.load(std::memory_order_acquire) == 1)
    autograd::NodeRef::release(std::exchange(impl->grad_fn, nullptr));
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

// A wrapper has no values of its own, so a class that does not take its operators over has nothing to work on.
void check_has_data(PyObject* tensor, PyTypeObject* type) {
  MT_CHECK(!(tensor_of(tensor).impl()->special & kHandled), "Creating a new Tensor subclass ", type->tp_name,
           " but the raw Tensor object is already associated to a python object of type ",
           Py_TYPE(tensor)->tp_name);
}

// Tensor(...), the legacy constructor, is written in Python; it is installed as `_C.Tensor._legacy_new`.
PyObject* new_tensor_object(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  // Subclass(tensor) is a view of the tensor.
  if (type != g_tensor_type && !kwargs && PyTuple_GET_SIZE(args) == 1 && is_tensor(PyTuple_GET_ITEM(args, 0)))
    return guarded([&] { return wrap_as(type, ops::alias(tensor_of(PyTuple_GET_ITEM(args, 0)))); });
  PyObject* legacy = PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "_legacy_new");
  if (!legacy) return nullptr;
  PyObject* made = PyObject_Call(legacy, args, kwargs);
  Py_DECREF(legacy);
  if (!made || PyObject_TypeCheck(made, type)) return made;
  PyObject* result = guarded([&] {
    check_has_data(made, type);
    return wrap_as(type, shallow_copy(tensor_of(made)));
  });
  Py_DECREF(made);
  return result;
}

// A slot of Python's syntax asks as the method does.
template <class Plain>
PyObject* asking_slot(const char* name, PyObject* self, Plain plain) {
  if (may_ask(self)) [[unlikely]] {
    bool failed = false;
    if (PyObject* done = ask_method(name, self, nullptr, 0, nullptr, failed)) return done;
    if (failed) return nullptr;
  }
  return plain(self);
}

Py_ssize_t length(PyObject* self) {
  if (may_ask(self)) [[unlikely]] {
    bool failed = false;
    if (PyObject* done = ask_method("__len__", self, nullptr, 0, nullptr, failed)) {
      const Py_ssize_t found = PyNumber_AsSsize_t(done, PyExc_OverflowError);
      Py_DECREF(done);
      return found;
    }
    if (failed) return -1;
  }
  const Tensor& t = tensor_of(self);
  if (t.dim() == 0) {
    PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
    return -1;
  }
  return Py_ssize_t(t.sizes()[0]);
}

int truth(PyObject* self) {
  if (may_ask(self)) [[unlikely]] {
    bool failed = false;
    if (PyObject* done = ask_method("__bool__", self, nullptr, 0, nullptr, failed)) {
      const int found = PyObject_IsTrue(done);
      Py_DECREF(done);
      return found;
    }
    if (failed) return -1;
  }
  const Tensor& t = tensor_of(self);
  if (t.numel() != 1) {
    PyErr_SetString(PyExc_RuntimeError,
                    t.numel() == 0 ? "Boolean value of Tensor with no values is ambiguous"
                                   : "Boolean value of Tensor with more than one value is ambiguous");
    return -1;
  }
  return guarded_int([&] {
    MT_CHECK(!stands_for_batch(t),
             "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We "
             "don't support that yet, please file an issue at https://github.com/pytorch/pytorch/issues .");
    return int(item(t).to<bool>());
  });
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

PyObject* plain_int(PyObject* self) {
  return guarded([&]() -> PyObject* {
    const Scalar value = real_item(self, "int64_t");
    if (!value.is_floating()) return PyLong_FromLongLong(value.to<int64_t>());
    return PyLong_FromDouble(value.to<double>());
  });
}
PyObject* to_int(PyObject* self) { return asking_slot("__int__", self, plain_int); }
PyObject* to_float(PyObject* self) {
  return asking_slot("__float__", self, [](PyObject* plain) {
    return guarded([&] { return PyFloat_FromDouble(real_item(plain, "double").to<double>()); });
  });
}
PyObject* plain_index(PyObject* self) {
  const Tensor& t = tensor_of(self);
  if (t.numel() != 1 || !is_integral(t.dtype(), true)) {
    PyErr_SetString(PyExc_TypeError, "only integer tensors of a single element can be converted to an index");
    return nullptr;
  }
  return plain_int(self);
}
PyObject* to_index(PyObject* self) { return asking_slot("__index__", self, plain_index); }

PyObject* use_count(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLong(object_of(self)->impl->refs.load(std::memory_order_acquire));
}

// For whoever found the object by a weak reference: it owns its tensor from here on.
PyObject* fix_weak_reference(PyObject* self, PyObject*) {
  TensorImpl* impl = object_of(self)->impl;
  if (impl && impl->owns_python_object) {
    Ref<TensorImpl>::retain(impl);
    Py_DECREF(wrap_flipped(impl));
  }
  Py_RETURN_NONE;
}

// A graph that ends in the leaf would add to another tensor's gradient; what comes after makes an end of its own.
void give_up_accumulator(TensorImpl* impl) {
  autograd::LeafState* state = autograd::find_leaf_state(Tensor::share(impl));
  if (!state || !state->accumulator || !state->owns_accumulator) return;
  static_cast<autograd::AccumulateGrad*>(state->accumulator.get())->poison();
  state->accumulator = nullptr;
}

// Everything in the two objects but their identity changes places; so each layout of slots goes with its class.
PyObject* swap_tensors(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    MT_CHECK_AS(type, count == 2 && is_tensor(args[0]) && is_tensor(args[1]),
                "_swap_tensors(): expected two tensors");
    TensorObject *a = object_of(args[0]), *b = object_of(args[1]);
    PyTypeObject *type_a = Py_TYPE(a), *type_b = Py_TYPE(b);
    MT_CHECK(type_a->tp_basicsize == type_b->tp_basicsize && !a->weakrefs && !b->weakrefs, "cannot swap a ",
             type_a->tp_name, " and a ", type_b->tp_name, ": their objects differ in layout");
    give_up_accumulator(a->impl);
    give_up_accumulator(b->impl);
    char *bytes_a = reinterpret_cast<char*>(a) + sizeof(PyObject),
         *bytes_b = reinterpret_cast<char*>(b) + sizeof(PyObject);
    std::swap_ranges(bytes_a, reinterpret_cast<char*>(a) + type_a->tp_basicsize, bytes_b);
    Py_SET_TYPE(reinterpret_cast<PyObject*>(a), type_b);
    Py_SET_TYPE(reinterpret_cast<PyObject*>(b), type_a);
    a->impl->python_object = a;
    b->impl->python_object = b;
    for (PyObject* object : {args[0], args[1]})
      if (!PyObject_GC_IsTracked(object)) PyObject_GC_Track(object);
    Py_RETURN_NONE;
  });
}

PyMethodDef identity_methods[] = {{"_use_count", use_count, METH_NOARGS, nullptr},
                                  {"_fix_weakref", fix_weak_reference, METH_NOARGS, nullptr}};
PyMethodDef module_functions[] = {
    {"_swap_tensors", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(swap_tensors)), METH_FASTCALL,
     nullptr},
    {nullptr, nullptr, 0, nullptr}};

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

void track(PyObject* object) {
  if (!PyObject_GC_IsTracked(object)) PyObject_GC_Track(object);
}

[[gnu::hot]] PyObject* wrap_new(TensorImpl* impl) {
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
  // It may be finalized again: Python notes in the lowest bit of the word before an object that it was.
  static_cast<uintptr_t*>(impl->python_object)[-1] &= ~uintptr_t(1);
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
  methods.insert(methods.end(), std::begin(identity_methods), std::end(identity_methods));
  methods.push_back({nullptr, nullptr, 0, nullptr});
  static std::vector<PyGetSetDef> properties;
  for (PyGetSetDef* p = tensor_properties; p->name; ++p) {
    properties.push_back(*p);
    properties.back().closure = const_cast<char*>(p->name);  // by which it asks
  }
  properties.push_back({"__dict__", get_dict, PyObject_GenericSetDict, nullptr, nullptr});
  properties.push_back({nullptr, nullptr, nullptr, nullptr, nullptr});

  std::vector<PyType_Slot> slots = {
      {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
      {Py_tp_finalize, reinterpret_cast<void*>(finalize)},
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
  return PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(g_tensor_type)) == 0 &&
         PyModule_AddFunctions(module, module_functions) == 0;
}

}  // namespace mt::bindings
