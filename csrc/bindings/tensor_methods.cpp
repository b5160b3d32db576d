// Methods of Tensor that are no operators.
#include "autograd/engine.h"
#include "bindings/asking.h"
#include "bindings/nested_passes.h"
#include "bindings/node_object.h"
#include "bindings/owned.h"
#include "bindings/parser.h"
#include "bindings/storage_object.h"
#include "core/accelerator.h"
#include "core/copy_on_write.h"
#include "core/intercept_python.h"
#include "core/reach.h"
#include "core/sparse.h"
#include "core/transform.h"
#include "generated/ops/copy.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/view.h"

namespace mt::bindings {
namespace {

using FastArgs = PyObject* const*;

// Of compressed layouts, which have no strides: "CSR".
void refuse_compressed(const Tensor& t, const char* what) {
  const Layout layout = layout_of(t);
  if (layout == Layout::strided || layout == Layout::sparse_coo) return;
  std::string name = std::string(layout_name(layout)).substr(7);
  for (char& letter : name) letter = char(letter - 'a' + 'A');
  fail(ErrorKind::runtime, "Sparse ", name, " tensors do not have ", what);
}

PyObject* dim_or_all(PyObject* self, FastArgs args, Py_ssize_t count, PyObject* names, bool strides) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = tensor_of(self);
    const Py_ssize_t given = count + (names ? PyTuple_GET_SIZE(names) : 0);
    MT_CHECK_AS(type, given <= 1, strides ? "stride" : "size", "() takes at most 1 argument (dim), got ",
                given);
    if (strides) refuse_compressed(t, "strides");
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
  return PyBool_FromLong(tensor_of(self).storage().made_in_inference());
}
PyObject* is_same_size(PyObject* self, PyObject* other) {
  return guarded([&]() -> PyObject* {
    MT_CHECK_AS(type, is_tensor(other), "is_same_size(): wanted a Tensor, got ", Py_TYPE(other)->tp_name);
    return PyBool_FromLong(std::ranges::equal(tensor_of(self).sizes(), tensor_of(other).sizes()));
  });
}

PyObject* data_ptr(PyObject* self, PyObject*) {
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    check_has_memory(t);
    before_write(t.storage());
    hand_over(t.device());
    return PyLong_FromVoidPtr(t.device().is_meta() || t.numel() == 0 ? nullptr : t.data());
  });
}

PyObject* is_contiguous(PyObject* self, FastArgs args, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Py_ssize_t given = count + (names ? PyTuple_GET_SIZE(names) : 0);
    const MemoryFormat format = given ? memory_format_of(args[0]) : MemoryFormat::contiguous;
    refuse_compressed(tensor_of(self), "is_contiguous");
    return PyBool_FromLong(tensor_of(self).is_contiguous(format));
  });
}

using MakeObject = PyObject* (*)(const char* data);
template <class T, DType kType>
PyObject* object_of(const char* data) {
  const auto& value = *reinterpret_cast<const std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>*>(data);
  if constexpr (std::is_same_v<T, bool>) return PyBool_FromLong(value != 0);  // any byte, in a view of others
  else if constexpr (std::is_same_v<T, uint64_t>) return PyLong_FromUnsignedLongLong(value);
  else if constexpr (std::is_integral_v<T>) return PyLong_FromLongLong(value);
  else if constexpr (std::is_floating_point_v<T>) return PyFloat_FromDouble(value);
  else return scalar_object(read_scalar(data, kType));
}
MakeObject maker_of(DType dtype) {
  switch (dtype) {
#define X(name, type, legacy) \
  case DType::name: return object_of<type, DType::name>;
    MT_FORALL_DTYPES(X)
#undef X
    default: fail(ErrorKind::type, "unsupported dtype");
  }
}

PyObject* item_method(PyObject* self, PyObject*) {
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    if (!special(t)) check_reach(t);  // others have no memory of their own
    if (t.device().is_cpu() && t.numel() == 1 && !taken_over(special(t)))
      return maker_of(t.dtype())(t.data<char>());
    return scalar_object(item(t));
  });
}

PyObject* list_level(const char* data, const Tensor& t, MakeObject make, size_t dim) {
  if (dim == size_t(t.dim())) return make(data);
  // The stride of a dimension of one element, or of an empty tensor, may be anything: it is never taken.
  const int64_t n = t.sizes()[dim];
  const int64_t step = n > 1 && t.numel() > 0 ? t.strides()[dim] * int64_t(t.itemsize()) : 0;
  Owned list(PyList_New(Py_ssize_t(n)));
  for (int64_t i = 0; i < n; ++i, data += step) {
    PyObject* item = dim + 1 == size_t(t.dim()) ? make(data) : list_level(data, t, make, dim + 1);
    if (!item) throw PythonError();
    PyList_SET_ITEM(list.object, Py_ssize_t(i), item);
  }
  return list.release();
}
// Of a tensor that has no memory of its own: what its class says the values are.
PyObject* list_of_values(const Tensor& t) {
  if (t.dim() == 0) return scalar_object(item(t));
  Owned list(PyList_New(0));
  for (const Tensor& each : ops::unbind(t, 0))
    if (PyList_Append(list.object, Owned(list_of_values(each)).object) < 0) throw PythonError();
  return list.release();
}
PyObject* tolist(PyObject* self, PyObject*) {
  return guarded([&] {
    Tensor t = tensor_of(self);
    if (special(t) & kHandled) return list_of_values(t);
    check_has_memory(t);
    MT_CHECK_AS(not_implemented, !t.device().is_meta(), "Cannot copy out of meta tensor; no data!");
    if (!t.device().is_cpu()) t = ops::_to_copy(ops::detach(t), std::nullopt, Device{DeviceType::cpu});
    MT_CHECK(t.numel() == 0 || t.storage().data,
             "tolist() shouldn't be called on a tensor with unallocated storage");
    check_reach(t);
    return list_level(t.data<char>(), t, maker_of(t.dtype()), 0);
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
    if (t.impl()->special & kDual) [[unlikely]] {
      const_cast<Transformed*>(transformed(t))->tangents.reset();
      t.impl()->special &= uint8_t(~kDual);
    }
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

PyObject* register_hook(PyObject* self, PyObject* callable) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = tensor_of(self);
    MT_CHECK(autograd::requires_grad(t), "cannot register a hook on a tensor that doesn't require gradient");
    autograd::Node* node = autograd::gradient_node(t);
    const uint64_t id =
        node->add_pre_hook(autograd::is_leaf(t) ? 0 : t.impl()->output_nr, python_grad_hook(callable));
    track(self);
    return wrap_hook(node, id, callable);
  });
}

PyObject* register_accumulated_hook(PyObject* self, PyObject* callable) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = tensor_of(self);
    MT_CHECK(autograd::requires_grad(t), "cannot register a hook on a tensor that doesn't require gradient");
    MT_CHECK(autograd::is_leaf(t), "post accumulate grad hooks cannot be registered on non-leaf tensors");
    auto* node = static_cast<autograd::AccumulateGrad*>(autograd::gradient_node(t));
    const uint64_t id = node->add_accumulated_hook(python_accumulated_hook(callable, node));
    track(self);
    return wrap_hook(node, id, callable);
  });
}

PyObject* gradient_hooks(PyObject* self, PyObject* afterwards) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = tensor_of(self);
    const bool leaf = autograd::is_leaf(t);
    const autograd::LeafState* state = leaf ? autograd::find_leaf_state(t) : nullptr;
    autograd::Node* node = leaf ? (state ? static_cast<autograd::Node*>(state->accumulator.get()) : nullptr)
                                : autograd::current_grad_fn(t);
    if (!node) return PyList_New(0);
    return hooks_of(node, leaf ? 0 : t.impl()->output_nr, afterwards == Py_True);
  });
}

PyObject* untyped(PyObject* self, PyObject*) {
  return guarded([&] {
    const Layout layout = layout_of(tensor_of(self));
    MT_CHECK_AS(not_implemented, layout == Layout::strided, "Cannot access storage of Sparse",
                layout == Layout::sparse_coo ? "" : "Csr", "TensorImpl");
    return wrap_storage_handle(tensor_of(self).storage_ref());
  });
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

template <size_t N>
struct Name {
  char text[N];
  constexpr Name(const char (&name)[N]) { std::copy_n(name, N, text); }
};

// A method that asks first, in each of the forms Python calls.
template <Name name, PyObject* (*method)(PyObject*, PyObject*)>
PyObject* asking(PyObject* self, PyObject* argument) {
  if (may_ask(self) || (argument && may_ask(argument))) [[unlikely]] {
    bool failed = false;
    if (PyObject* done = ask_method(name.text, self, &argument, argument ? 1 : 0, nullptr, failed))
      return done;
    if (failed) return nullptr;
  }
  return method(self, argument);
}
template <Name name, PyObject* (*method)(PyObject*, FastArgs, Py_ssize_t, PyObject*)>
PyObject* asking_fast(PyObject* self, FastArgs args, Py_ssize_t count, PyObject* names) {
  if (may_ask(self)) [[unlikely]] {
    bool failed = false;
    if (PyObject* done = ask_method(name.text, self, args, count, names, failed)) return done;
    if (failed) return nullptr;
  }
  return method(self, args, count, names);
}

template <Name name, PyObject* (*method)(PyObject*, PyObject*)>
PyMethodDef plain(int arguments) {
  // From it Python knows the parameters.
  static const std::string signature =
      join_text(name.text, arguments == METH_O ? "($self, other)" : "($self)", "\n--\n\n");
  return {name.text, asking<name, method>, arguments, signature.c_str()};
}
template <Name name, PyObject* (*method)(PyObject*, FastArgs, Py_ssize_t, PyObject*)>
PyMethodDef fast(const char* parameter) {
  static const std::string signature = join_text(name.text, "($self, ", parameter, ")\n--\n\n");
  auto* function = reinterpret_cast<void*>(asking_fast<name, method>);
  return {name.text, reinterpret_cast<PyCFunction>(function), METH_FASTCALL | METH_KEYWORDS,
          signature.c_str()};
}

}  // namespace

void add_methods(std::vector<PyMethodDef>& methods) {
  const PyMethodDef own[] = {
      fast<"size", size>("dim=None"),
      fast<"stride", stride>("dim=None"),
      plain<"dim", dim>(METH_NOARGS),
      plain<"ndimension", dim>(METH_NOARGS),
      plain<"numel", numel>(METH_NOARGS),
      plain<"nelement", numel>(METH_NOARGS),
      plain<"element_size", element_size>(METH_NOARGS),
      plain<"storage_offset", storage_offset>(METH_NOARGS),
      plain<"is_floating_point", is_floating_point>(METH_NOARGS),
      plain<"is_complex", is_complex_method>(METH_NOARGS),
      plain<"is_inference", is_inference>(METH_NOARGS),
      plain<"is_same_size", is_same_size>(METH_O),
      plain<"data_ptr", data_ptr>(METH_NOARGS),
      fast<"is_contiguous", is_contiguous>("memory_format=None"),
      plain<"item", item_method>(METH_NOARGS),
      plain<"tolist", tolist>(METH_NOARGS),
      fast<"requires_grad_", requires_grad_>("requires_grad=True"),
      plain<"detach_", detach_>(METH_NOARGS),
      {"backward", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(backward)),
       METH_FASTCALL | METH_KEYWORDS, nullptr},
      plain<"retain_grad", retain_grad>(METH_NOARGS),
      {"_retains_grad", get_retains_grad, METH_NOARGS, nullptr},
      {"_register_hook", register_hook, METH_O, nullptr},
      {"_register_accumulated_hook", register_accumulated_hook, METH_O, nullptr},
      {"_gradient_hooks", gradient_hooks, METH_O, nullptr},
      {"_storage_handle", untyped, METH_NOARGS, nullptr},
      {"as_subclass", as_subclass, METH_O, nullptr},
      {"_make_subclass", make_subclass, METH_VARARGS | METH_STATIC, nullptr},
  };
  methods.insert(methods.end(), std::begin(own), std::end(own));
}

}  // namespace mt::bindings
