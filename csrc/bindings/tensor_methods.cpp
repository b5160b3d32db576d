// Methods of Tensor that are no operators.
#include "autograd/engine.h"
#include "bindings/nested_passes.h"
#include "bindings/node_object.h"
#include "bindings/parser.h"
#include "bindings/storage_object.h"
#include "core/reach.h"
#include "generated/ops/copy.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/view.h"

namespace mt::bindings {
namespace {

using FastArgs = PyObject* const*;

PyObject* dim_or_all(PyObject* self, FastArgs args, Py_ssize_t count, PyObject* names, bool strides) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = tensor_of(self);
    const Py_ssize_t given = count + (names ? PyTuple_GET_SIZE(names) : 0);
    MT_CHECK_AS(type, given <= 1, strides ? "stride" : "size", "() takes at most 1 argument (dim), got ",
                given);
    if (given == 1 && args[0] != Py_None)
      return PyLong_FromLongLong(strides ? t.stride(integer_from(args[0])) : t.size(integer_from(args[0])));
    if (!strides) return size_object(t.sizes());
    PyObject* tuple = PyTuple_New(Py_ssize_t(t.dim()));
    for (size_t i = 0; i < size_t(t.dim()); ++i)
      PyTuple_SET_ITEM(tuple, Py_ssize_t(i), PyLong_FromLongLong(t.strides()[i]));
    return tuple;
  });
}
PyObject* size(PyObject* self, FastArgs args, Py_ssize_t count, PyObject* names) {
  return dim_or_all(self, args, count, names, false);
}
PyObject* stride(PyObject* self, FastArgs args, Py_ssize_t count, PyObject* names) {
  return dim_or_all(self, args, count, names, true);
}

PyObject* dim(PyObject* self, PyObject*) { return PyLong_FromLongLong(tensor_of(self).dim()); }
PyObject* numel(PyObject* self, PyObject*) { return PyLong_FromLongLong(tensor_of(self).numel()); }
PyObject* element_size(PyObject* self, PyObject*) { return PyLong_FromSize_t(tensor_of(self).itemsize()); }
PyObject* storage_offset(PyObject* self, PyObject*) { return PyLong_FromLongLong(tensor_of(self).offset()); }
PyObject* is_floating_point(PyObject* self, PyObject*) {
  return PyBool_FromLong(is_floating(tensor_of(self).dtype()));
}
PyObject* is_complex_method(PyObject* self, PyObject*) {
  return PyBool_FromLong(is_complex(tensor_of(self).dtype()));
}
PyObject* is_inference(PyObject* self, PyObject*) {
  return PyBool_FromLong(tensor_of(self).storage().inference);
}
PyObject* is_same_size(PyObject* self, PyObject* other) {
  return guarded([&]() -> PyObject* {
    MT_CHECK_AS(type, is_tensor(other), "is_same_size(): wanted a Tensor, got ", Py_TYPE(other)->tp_name);
    return PyBool_FromLong(std::ranges::equal(tensor_of(self).sizes(), tensor_of(other).sizes()));
  });
}

PyObject* data_ptr(PyObject* self, PyObject*) {
  const Tensor& t = tensor_of(self);
  return PyLong_FromVoidPtr(t.device().is_meta() || t.storage().nbytes == 0 ? nullptr : t.data());
}

PyObject* is_contiguous(PyObject* self, FastArgs args, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Py_ssize_t given = count + (names ? PyTuple_GET_SIZE(names) : 0);
    const MemoryFormat format = given ? memory_format_of(args[0]) : MemoryFormat::contiguous;
    return PyBool_FromLong(tensor_of(self).is_contiguous(format));
  });
}

// uint64 has values no Scalar holds.
PyObject* element_object(const void* data, DType dtype) {
  if (dtype == DType::uint64) return PyLong_FromUnsignedLongLong(*static_cast<const uint64_t*>(data));
  return scalar_object(read_scalar(data, dtype));
}

PyObject* item_method(PyObject* self, PyObject*) {
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    check_reach(t);
    if (t.device().is_cpu() && t.numel() == 1) return element_object(t.data(), t.dtype());
    return scalar_object(item(t));
  });
}

PyObject* list_level(const char* data, const Tensor& t, size_t dim) {
  if (dim == size_t(t.dim())) return element_object(data, t.dtype());
  // The stride of a dimension of one element, or of an empty tensor, may be anything: it is never taken.
  const int64_t n = t.sizes()[dim];
  const int64_t step = n > 1 && t.numel() > 0 ? t.strides()[dim] * int64_t(t.itemsize()) : 0;
  PyObject* list = PyList_New(Py_ssize_t(n));
  if (!list) throw PythonError();
  for (int64_t i = 0; i < n; ++i)
    PyList_SET_ITEM(list, Py_ssize_t(i), list_level(data + i * step, t, dim + 1));
  return list;
}
PyObject* tolist(PyObject* self, PyObject*) {
  return guarded([&] {
    Tensor t = tensor_of(self);
    MT_CHECK_AS(not_implemented, !t.device().is_meta(), "Cannot copy out of meta tensor; no data!");
    if (!t.device().is_cpu()) t = ops::_to_copy(ops::detach(t), std::nullopt, Device{DeviceType::cpu});
    check_reach(t);
    return list_level(t.data<char>(), t, 0);
  });
}

PyObject* requires_grad_(PyObject* self, FastArgs args, Py_ssize_t count, PyObject* names) {
  return guarded([&]() -> PyObject* {
    const Py_ssize_t given = count + (names ? PyTuple_GET_SIZE(names) : 0);
    PyObject* value = given ? args[0] : Py_True;
    if (PyObject_SetAttrString(self, "requires_grad", value) < 0) throw PythonError();
    return returned(self);
  });
}

PyObject* detach_(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = tensor_of(self);
    MT_CHECK(!t.is_view(),
             "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel "
             "(DDP) for training, and gradient_as_bucket_view is set as True, gradients are views of DDP "
             "buckets, and hence detach_() cannot be called on these gradients. To fix this error, please "
             "refer to the Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution.");
    Ref<GraphNode>::release(std::exchange(t.impl()->grad_fn, nullptr));
    t.impl()->requires_grad = false;
    t.impl()->output_nr = 0;
    return returned(self);
  });
}

PyObject* retain_grad(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = tensor_of(self);
    MT_CHECK(autograd::requires_grad(t), "can't retain_grad on Tensor that has requires_grad=False");
    autograd::retain_grad(t);
    Py_RETURN_NONE;
  });
}
PyObject* get_retains_grad(PyObject* self, PyObject*) {
  autograd::LeafState* state = autograd::find_leaf_state(tensor_of(self));
  return PyBool_FromLong(state && state->retains_grad);
}

std::vector<Tensor> inputs_of(PyObject* inputs) {
  std::vector<Tensor> out;
  if (inputs == Py_None) return out;
  if (is_tensor(inputs)) return {tensor_of(inputs)};
  PyObject* items = PySequence_Fast(inputs, "'inputs' must be a Tensor or a sequence of Tensors");
  if (!items) throw PythonError();
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(items, i);
    if (is_tensor(item)) out.push_back(tensor_of(item));
  }
  const bool all = Py_ssize_t(out.size()) == PySequence_Fast_GET_SIZE(items);
  Py_DECREF(items);
  MT_CHECK_AS(type, all, "'inputs' must be a Tensor or a sequence of Tensors");
  MT_CHECK(!out.empty(), "`inputs` argument to `backward()` cannot be empty.");
  return out;
}

PyObject* backward(PyObject* self, FastArgs args, Py_ssize_t count, PyObject* names) {
  return guarded([&]() -> PyObject* {
    static Parameter parameters[] = {{"self", Kind::tensor, false, false, false},
                                     {"gradient", Kind::tensor, true, true, false},
                                     {"retain_graph", Kind::boolean, true, true, false},
                                     {"create_graph", Kind::boolean, true, false, false},
                                     {"inputs", Kind::any, true, true, false}};
    static const Overloads overloads("backward", {{"(Tensor gradient = None, bool retain_graph = None, bool "
                                                   "create_graph = False, Tensors inputs = None)",
                                                   parameters, 5, 5}});
    Bound b;
    if (overloads.match(b, self, args, count, names) < 0) return b.overridden();
    const std::vector<Tensor> inputs = b.given(4) ? inputs_of(b.at(4)) : std::vector<Tensor>();
    const bool create = b.boolean(3, false);
    const Tensor& gradient = b.tensor(1);
    const bool retain = b.given(2) ? b.boolean(2) : create;
    run_pass(
        [&] { autograd::backward({&tensor_of(self), 1}, {&gradient, 1}, inputs, {retain, create, true}); });
    Py_RETURN_NONE;
  });
}

// Returns (node handle, id) for the removable handle that Python makes of it.
PyObject* register_hook(PyObject* self, PyObject* callable) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = tensor_of(self);
    MT_CHECK(autograd::requires_grad(t), "cannot register a hook on a tensor that doesn't require gradient");
    autograd::Node* node = autograd::gradient_node(t);
    const uint64_t id =
        node->add_pre_hook(autograd::is_leaf(t) ? 0 : t.impl()->output_nr, python_grad_hook(callable));
    PyObject* handle = wrap_node(node);
    return Py_BuildValue("(NK)", handle, static_cast<unsigned long long>(id));
  });
}

PyObject* register_accumulated_hook(PyObject* self, PyObject* callable) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = tensor_of(self);
    MT_CHECK(autograd::requires_grad(t), "cannot register a hook on a tensor that doesn't require gradient");
    MT_CHECK(autograd::is_leaf(t), "post accumulate grad hooks cannot be registered on non-leaf tensors");
    auto* node = static_cast<autograd::AccumulateGrad*>(autograd::gradient_node(t));
    const uint64_t id = node->add_post_hook(python_accumulated_hook(callable, node));
    PyObject* handle = wrap_node(node);
    return Py_BuildValue("(NK)", handle, static_cast<unsigned long long>(id));
  });
}

PyObject* untyped(PyObject* self, PyObject*) {
  return guarded([&] { return wrap_storage_handle(tensor_of(self).storage_ref()); });
}

PyObject* make_subclass(PyObject* type, PyObject* args) {
  PyObject *cls, *data;
  int requires_grad = 0;
  if (!PyArg_ParseTuple(args, "OO|p:_make_subclass", &cls, &data, &requires_grad)) return nullptr;
  return guarded([&]() -> PyObject* {
    MT_CHECK_AS(type,
                PyType_Check(cls) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), g_tensor_type),
                "_make_subclass: cls must be a subclass of Tensor");
    MT_CHECK_AS(type, is_tensor(data), "_make_subclass: data must be a Tensor, got ", Py_TYPE(data)->tp_name);
    Tensor t = shallow_copy(tensor_of(data));
    MT_CHECK(!requires_grad || is_differentiable(t.dtype()),
             "Only Tensors of floating point and complex dtype can require gradients");
    t.impl()->requires_grad = requires_grad;
    (void)type;
    return wrap_as(reinterpret_cast<PyTypeObject*>(cls), std::move(t));
  });
}

// The same tensor, history and all, as an object of a subclass.
PyObject* as_subclass(PyObject* self, PyObject* cls) {
  return guarded([&]() -> PyObject* {
    MT_CHECK_AS(type,
                PyType_Check(cls) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), g_tensor_type),
                "as_subclass: cls must be a subclass of Tensor");
    return wrap_as(reinterpret_cast<PyTypeObject*>(cls), ops::alias(tensor_of(self)));
  });
}

template <class F>
PyCFunction fast(F* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function));
}

}  // namespace

void add_methods(std::vector<PyMethodDef>& methods) {
  const PyMethodDef own[] = {
      {"size", fast(size), METH_FASTCALL | METH_KEYWORDS, nullptr},
      {"stride", fast(stride), METH_FASTCALL | METH_KEYWORDS, nullptr},
      {"dim", dim, METH_NOARGS, nullptr},
      {"ndimension", dim, METH_NOARGS, nullptr},
      {"numel", numel, METH_NOARGS, nullptr},
      {"nelement", numel, METH_NOARGS, nullptr},
      {"element_size", element_size, METH_NOARGS, nullptr},
      {"storage_offset", storage_offset, METH_NOARGS, nullptr},
      {"is_floating_point", is_floating_point, METH_NOARGS, nullptr},
      {"is_complex", is_complex_method, METH_NOARGS, nullptr},
      {"is_inference", is_inference, METH_NOARGS, nullptr},
      {"is_same_size", is_same_size, METH_O, nullptr},
      {"data_ptr", data_ptr, METH_NOARGS, nullptr},
      {"is_contiguous", fast(is_contiguous), METH_FASTCALL | METH_KEYWORDS, nullptr},
      {"item", item_method, METH_NOARGS, nullptr},
      {"tolist", tolist, METH_NOARGS, nullptr},
      {"requires_grad_", fast(requires_grad_), METH_FASTCALL | METH_KEYWORDS, nullptr},
      {"detach_", detach_, METH_NOARGS, nullptr},
      {"backward", fast(backward), METH_FASTCALL | METH_KEYWORDS, nullptr},
      {"retain_grad", retain_grad, METH_NOARGS, nullptr},
      {"_retains_grad", get_retains_grad, METH_NOARGS, nullptr},
      {"_register_hook", register_hook, METH_O, nullptr},
      {"_register_accumulated_hook", register_accumulated_hook, METH_O, nullptr},
      {"_storage_handle", untyped, METH_NOARGS, nullptr},
      {"as_subclass", as_subclass, METH_O, nullptr},
      {"_make_subclass", make_subclass, METH_VARARGS | METH_STATIC, nullptr},
  };
  methods.insert(methods.end(), std::begin(own), std::end(own));
}

}  // namespace mt::bindings
