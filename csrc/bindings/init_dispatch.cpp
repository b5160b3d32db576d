// __torch_dispatch__ and modes: operators that Python takes over (Note [Interception] in core/intercept.h), and
// operators that Python calls by name and overload.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "autograd/engine.h"
#include "bindings/casters.h"
#include "bindings/owned.h"
#include "bindings/python_lock.h"
#include "bindings/tensor_object.h"
#include "bindings/types.h"
#include "bindings/values.h"
#include "core/intercept_python.h"
#include "core/meta_memory.h"
#include "ops/check_errors.h"
#include "ops/register_operators.h"

namespace mt::bindings {

namespace nb = nanobind;

namespace {

// In Python: (name, overload, arguments) -> results.
PyObject* handler_of(const char* module_name) {
  const Owned module(PyImport_ImportModule(module_name));
  return Owned(PyObject_GetAttrString(module.object, "handle")).release();
}

template <class List, class Make>
PyObject* list_of(const List& items, Make make) {
  Owned list(PyList_New(Py_ssize_t(items.size())));
  Py_ssize_t i = 0;
  for (const auto& item : items) PyList_SET_ITEM(list.object, i++, Owned(make(item)).release());
  return list.release();
}

PyObject* number_object(const Scalar& number) {
  if (number.category() == Category::boolean) return PyBool_FromLong(number.to<bool>());
  if (number.is_integral()) return PyLong_FromLongLong(number.to<int64_t>());
  if (number.is_floating()) return PyFloat_FromDouble(number.to<double>());
  const complex128 value = number.to<complex128>();
  return PyComplex_FromDoubles(value.real(), value.imag());
}

PyObject* generator_object(Generator* generator) {
  PyObject* made = g_generator_type->tp_alloc(g_generator_type, 0);
  if (!made) return nullptr;
  ++generator->refs;
  reinterpret_cast<GeneratorObject*>(made)->value = generator;
  return made;
}

struct ToPython {
  PyObject* operator()(std::monostate) const { Py_RETURN_NONE; }
  PyObject* operator()(const Tensor& t) const { return wrap(t); }
  PyObject* operator()(const std::vector<Tensor>& list) const {
    return list_of(list, [](const Tensor& t) { return wrap(t); });
  }
  PyObject* operator()(bool value) const { return PyBool_FromLong(value); }
  PyObject* operator()(int64_t value) const { return PyLong_FromLongLong(value); }
  PyObject* operator()(double value) const { return PyFloat_FromDouble(value); }
  PyObject* operator()(const Scalar& number) const { return number_object(number); }
  PyObject* operator()(const Dims& list) const {
    return list_of(list, [](int64_t i) { return PyLong_FromLongLong(i); });
  }
  PyObject* operator()(const std::vector<double>& list) const { return list_of(list, PyFloat_FromDouble); }
  PyObject* operator()(const std::vector<Scalar>& list) const { return list_of(list, number_object); }
  PyObject* operator()(const std::string& text) const {
    return PyUnicode_FromStringAndSize(text.data(), Py_ssize_t(text.size()));
  }
  PyObject* operator()(DType dtype) const { return dtype_object(dtype); }
  PyObject* operator()(Device device) const { return device_object(device); }
  PyObject* operator()(MemoryFormat format) const { return memory_format_object(format); }
  PyObject* operator()(Generator* generator) const { return generator_object(generator); }
};

}  // namespace

PyObject* to_python(const Value& value) { return std::visit(ToPython(), value); }

namespace {

Value from_python(PyObject* object);

bool is_tensor_or_none(PyObject* object) { return object == Py_None || is_tensor(object); }

// What a list is of: T tensors, f reals, s numbers, i ints, or a space where its items decide.
Value list_from_python(PyObject* object, char kind = ' ') {
  const Owned items(PySequence_Fast(object, "wanted a list"));
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(items.object);
  PyObject** item = PySequence_Fast_ITEMS(items.object);
  if (kind == 'T' || (kind == ' ' && count > 0 && std::all_of(item, item + count, is_tensor_or_none))) {
    MT_CHECK_AS(type, std::all_of(item, item + count, is_tensor_or_none),
                "an operator that wants a list of tensors was given a list of something else");
    std::vector<Tensor> tensors;
    for (Py_ssize_t i = 0; i < count; ++i)
      tensors.push_back(item[i] == Py_None ? Tensor() : tensor_of(item[i]));
    return tensors;
  }
  Dims ints;
  std::vector<double> reals;
  std::vector<Scalar> numbers;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Scalar number = Unboxed<const Scalar&>::from(from_python(item[i]));
    numbers.push_back(number);
    reals.push_back(number.to<double>());
    ints.push_back(number.to<int64_t>());
  }
  if (kind == 's') return numbers;
  const bool whole = std::ranges::all_of(numbers, [](const Scalar& n) { return n.is_integral(); });
  if (kind == 'i' || (kind == ' ' && whole)) {
    MT_CHECK_AS(type, whole, "an operator that wants a list of ints was given a list of other numbers");
    return ints;
  }
  if (std::ranges::all_of(numbers, [](const Scalar& n) { return !n.is_complex(); })) return reals;
  return numbers;
}

Value from_python(PyObject* object) {
  if (object == Py_None) return {};
  if (is_tensor(object)) return tensor_of(object);
  if (PyBool_Check(object)) return object == Py_True;
  if (PyFloat_Check(object)) return PyFloat_AS_DOUBLE(object);
  if (PyComplex_Check(object))
    return Scalar(complex128(PyComplex_RealAsDouble(object), PyComplex_ImagAsDouble(object)));
  if (PyUnicode_Check(object)) {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(object, &size);
    if (!text) throw PythonError();
    return std::string(text, size_t(size));
  }
  if (PyObject_TypeCheck(object, g_dtype_type)) return reinterpret_cast<DTypeObject*>(object)->value;
  if (PyObject_TypeCheck(object, g_device_type)) return reinterpret_cast<DeviceObject*>(object)->value;
  if (PyObject_TypeCheck(object, g_memory_format_type))
    return reinterpret_cast<MemoryFormatObject*>(object)->value;
  if (PyObject_TypeCheck(object, g_generator_type)) return reinterpret_cast<GeneratorObject*>(object)->value;
  if (PyIndex_Check(object)) {
    const Owned number(PyNumber_Index(object));
    const int64_t value = PyLong_AsLongLong(number.object);
    if (value == -1 && PyErr_Occurred()) throw PythonError();
    return value;
  }
  if (PyList_Check(object) || PyTuple_Check(object)) return list_from_python(object);
  fail(ErrorKind::type, "an operator was given a ", Py_TYPE(object)->tp_name,
       ", which is no value of a schema");
}

bool gives_list(const Operator& op) { return std::string_view(op.schema).ends_with("[]"); }
bool gives_number(const Operator& op) { return std::string_view(op.schema).ends_with("-> Scalar"); }
bool gives_several(const Operator& op) {
  return std::string_view(op.schema).find("-> (") != std::string_view::npos;
}

Values results_from_python(const Operator& op, PyObject* made) {
  Values results;
  if (gives_number(op)) {
    results.push_back(from_python(made));
  } else if (made == Py_None) {
    results.emplace_back();
  } else if (is_tensor(made)) {
    MT_CHECK_AS(type, !gives_list(op), op.name, ": __torch_dispatch__ gave one tensor, wanted a list");
    results.emplace_back(tensor_of(made));
  } else if (gives_list(op)) {
    results.push_back(list_from_python(made, 'T'));
  } else if (gives_several(op)) {
    const Owned items(PySequence_Fast(made, "an operator with several results gave no tuple"));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.object); ++i)
      results.push_back(from_python(PySequence_Fast_GET_ITEM(items.object, i)));
  } else {
    fail(ErrorKind::type, op.name, ": __torch_dispatch__ gave a ", Py_TYPE(made)->tp_name,
         ", wanted a Tensor");
  }
  return results;
}

// History is recorded above: what the handler calls is not part of the graph.
class BelowHistory {
 public:
  BelowHistory() : before_(std::exchange(thread_state().grad_enabled, false)) {}
  ~BelowHistory() { thread_state().grad_enabled = before_; }
  BelowHistory(const BelowHistory&) = delete;

 private:
  bool before_;
};

Values ask(PyObject* handler, const Operator& op, const Values& arguments) {
  const BelowHistory below;
  const Owned given(list_of(arguments, to_python));
  const Owned made(PyObject_CallFunction(handler, "ssO", op.name, op.overload, given.object));
  return results_from_python(op, made.object);
}

PyObject* python_handler() {
  static PyObject* handler = handler_of("mindtorch_v2._library.interception");
  return handler;
}

Values ask_python(const Operator& op, Values arguments) {
  const PythonLock lock;
  return ask(python_handler(), op, arguments);
}

// Note [Sparse tensors] in core/sparse.h
Values ask_sparse(const Operator& op, Values arguments) {
  const PythonLock lock;
  static PyObject* handler = handler_of("mindtorch_v2._sparse.table");
  return ask(handler, op, arguments);
}

PyObject* results_to_python(const Operator& op, const Values& results) {
  if (results.empty()) Py_RETURN_NONE;
  if (!gives_several(op)) return to_python(results[0]);
  const Owned list(list_of(results, to_python));
  return PyList_AsTuple(list.object);
}

// `kinds` has a letter for each argument, which says what a list is of.
nb::object call(const std::string& name, const std::string& overload, nb::sequence arguments,
                const std::string& kinds) {
  const Operator* op = find_operator(name, overload);
  MT_CHECK(op, "there is no operator ", name, ".", overload);
  Values values;
  for (nb::handle each : arguments) {
    const char kind = values.size() < kinds.size() ? kinds[values.size()] : ' ';
    const bool list = kind != ' ' && (PyList_Check(each.ptr()) || PyTuple_Check(each.ptr()));
    values.push_back(list ? list_from_python(each.ptr(), kind) : from_python(each.ptr()));
  }
  try {
    return nb::steal(results_to_python(*op, op->call(values)));
  } catch (const std::bad_variant_access&) {
    fail(ErrorKind::type, name, ".", overload, op->schema, ": an argument is of another type");
  }
}

// It says that it is on the device, but its storage is on meta: no kernel may ever see it.
nb::object wrapper(nb::type_object cls, const std::vector<int64_t>& size,
                   const std::optional<std::vector<int64_t>>& strides, int64_t offset, nb::object dtype,
                   nb::object device, bool requires_grad) {
  auto* type = reinterpret_cast<PyTypeObject*>(cls.ptr());
  MT_CHECK_AS(type, PyType_IsSubtype(type, g_tensor_type),
              "cls must be a type that inherits from Tensor, got ", type->tp_name);
  MT_CHECK(handles_operators(type), type->tp_name,
           " has no __torch_dispatch__: a tensor without memory needs one that takes its operators over");
  const DType kind = dtype_of_object(dtype.ptr());
  const Device meta{DeviceType::meta};
  const UncountedMeta uncounted;
  Tensor made = strides ? new_tensor_strided(size, *strides, kind, meta) : new_tensor(size, kind, meta);
  MT_CHECK(!requires_grad || is_differentiable(kind),
           "Only Tensors of floating point and complex dtype can require gradients");
  TensorImpl* impl = made.impl();
  impl->offset = offset;
  impl->device = resolve_device(device_from_object(device.ptr()));
  impl->requires_grad = requires_grad;
  impl->special |= kWithoutMemory;
  return nb::steal(wrap_as(type, std::move(made)));
}

// A tensor that was made of numbers: modes see it as it comes into being.
nb::object lift(nb::object tensor) {
  if (!wanted_by_python(0)) return tensor;
  const Owned given(PyList_New(1));
  PyList_SET_ITEM(given.object, 0, Py_NewRef(tensor.ptr()));
  return nb::steal(PyObject_CallFunction(python_handler(), "ssO", "aten::lift_fresh", "", given.object));
}

Values number_of(const Values& arguments) { return {Value(item(std::get<Tensor>(arguments.at(0))))}; }

nb::list texts(std::span<const NamedText> all) {
  nb::list found;
  for (const NamedText& each : all) found.append(nb::make_tuple(each.name, each.overload, each.text));
  return found;
}

// A wrapper whose inner tensor was changed in place looks like it again.
void take_geometry(const Tensor& wrapper, const Tensor& inner) {
  MT_CHECK(special(wrapper) & kWithoutMemory, "only a tensor without memory takes the geometry of another");
  TensorImpl* impl = wrapper.impl();
  impl->set_ndim(size_t(inner.dim()));
  std::ranges::copy(inner.sizes(), impl->sizes());
  std::ranges::copy(inner.strides(), impl->strides());
  impl->offset = inner.offset();
  impl->refresh();
}

int set_modes(int count) {
  ThreadState& state = thread_state();
  const int before = std::exchange(state.dispatch_modes, count);
  if ((before > 0) != (count > 0)) set_look_up(count > 0);
  return before;
}

}  // namespace

void init_dispatch(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("_dispatch", "Operators that Python takes over, or calls by name.");
  g_python_interceptor = &ask_python;
  static constexpr Operator number{"aten::_local_scalar_dense", "", "(Tensor self) -> Scalar", &number_of};
  static constexpr Operator check{"aten::_linalg_check_errors", "",
                                  "(Tensor info, str api_name, *, bool is_matrix) -> ()",
                                  &linalg_check_errors};
  add_operators({&number, 1});
  add_operators({&check, 1});
  g_sparse_interceptor = &ask_sparse;
  m.def("set_modes", &set_modes, nb::arg("count"),
        "How many modes this thread has; returns how many it had.");
  m.def(
      "set_off", [](bool off) { return std::exchange(thread_state().interception_off, off); }, nb::arg("off"),
      "Whether operators of this thread are left alone; returns what was so before.");
  m.def("modes", [] { return thread_state().dispatch_modes; }, "How many modes this thread has.");
  m.def("is_off", [] { return thread_state().interception_off; });
  m.def("operators", [] {
    nb::list found;
    for (const Operator& op : all_operators()) found.append(nb::make_tuple(op.name, op.overload, op.schema));
    return found;
  });
  m.def("operators_in_python", [] { return texts(operators_in_python()); });
  m.def(
      "seen_as", [] { return texts(seen_as()); },
      "What handlers see of rows that are not PyTorch's: expressions by name and overload.");
  m.def(
      "tags", [] { return texts(tags_of_operators()); },
      "Tags of operators by name and overload, with spaces between.");
  m.def("in_backward", &autograd::in_backward, "Whether this thread is inside a backward pass.");
  m.def("take_geometry", &take_geometry, nb::arg("wrapper"), nb::arg("inner"));
  m.def(
      "is_number", [](const Tensor& t) { return t.impl()->wrapped_number; }, nb::arg("tensor"),
      "Whether a tensor stands for a number of the program.");
  m.def("lift", &lift, nb::arg("tensor"), "The tensor, or what modes of this thread make of it.");
  m.def("call", &call, nb::arg("name"), nb::arg("overload"), nb::arg("arguments"), nb::arg("kinds") = "");
  m.def("wrapper", &wrapper, nb::arg("cls"), nb::arg("size"), nb::arg("strides"), nb::arg("offset"),
        nb::arg("dtype"), nb::arg("device"), nb::arg("requires_grad"),
        "A tensor without memory, of a class that takes its operators over.");
}

}  // namespace mt::bindings
