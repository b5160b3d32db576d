// _C._npu's part for _backends/npu/aclnn.py: ACLNN operators by name, with Python's values as arguments.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <memory>

#include "backends/npu/aclnn_by_name.h"
#include "bindings/booleans.h"
#include "bindings/owned.h"
#include "bindings/python_frame.h"
#include "bindings/tensor_object.h"
#include "bindings/types.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace mt::bindings {

void init_aclnn(nb::module_& m);

namespace {

using npu::aclnn::CallByName;
using npu::aclnn::Kind;
using npu::aclnn::Operator;

// Conversions throw a TypeError with the end of the message that add_argument makes, or leave Python's.

std::string type_name(PyObject* object) {
  const Owned name(PyType_GetName(Py_TYPE(object)));
  return nb::str(nb::handle(name.object)).c_str();
}

const Tensor& tensor_from(PyObject* object) {
  MT_CHECK_AS(type, is_tensor(object), "expected a tensor, got ", type_name(object));
  const Tensor& tensor = tensor_of(object);
  MT_CHECK_AS(type, tensor.device().type == npu::kSlot, "expected a tensor on an npu device, got one on '",
              to_string(tensor.device()), "'");
  return tensor;
}

[[noreturn]] void fail_too_large(PyObject* number, int bits) {
  const Owned text(PyObject_Str(number));
  fail(ErrorKind::type, nb::str(nb::handle(text.object)).c_str(), " does not fit ", bits, " bits");
}

// An integer that T can hold.
template <class T>
int64_t integer_from(PyObject* object) {
  const Owned number(PyNumber_Index(object));
  if constexpr (std::is_same_v<T, uint64_t>) {
    const unsigned long long value = PyLong_AsUnsignedLongLong(number.object);
    if (value == ~0ULL && PyErr_Occurred()) {
      PyErr_Clear();
      fail_too_large(number.object, 64);
    }
    return int64_t(value);
  } else {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(number.object, &overflow);
    if (overflow || value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max())
      fail_too_large(number.object, 8 * sizeof(T));
    return value;
  }
}

bool boolean_from(PyObject* object) {
  if (is_boolean(object)) return PyObject_IsTrue(object) == 1;
  const int64_t value = integer_from<int64_t>(object);
  MT_CHECK_AS(type, value == 0 || value == 1, value, " is neither True nor False");
  return value != 0;
}

double real_from(PyObject* object) {
  const double value = PyFloat_AsDouble(object);
  if (value == -1.0 && PyErr_Occurred()) throw PythonError();
  return value;
}

Scalar scalar_from(PyObject* object) {
  if (PyBool_Check(object)) return Scalar(object == Py_True);
  if (PyLong_Check(object)) return Scalar(integer_from<int64_t>(object));
  if (PyFloat_Check(object)) return Scalar(PyFloat_AS_DOUBLE(object));
  if (PyComplex_Check(object))
    return Scalar(complex128(PyComplex_RealAsDouble(object), PyComplex_ImagAsDouble(object)));
  fail(ErrorKind::type, "expected a number, got ", type_name(object));
}

int64_t data_type_from(PyObject* object) {
  if (is_dtype_like(object)) return npu::aclnn::data_type(dtype_of_object(object));
  return integer_from<int>(object);
}

const char* text_from(PyObject* object) {
  MT_CHECK_AS(type, PyUnicode_Check(object), "expected a text, got ", type_name(object));
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(object, &size);
  if (!text) throw PythonError();
  MT_CHECK_AS(type, std::strlen(text) == size_t(size), "a text for C cannot hold the character 0");
  return text;
}

template <class T, class Convert>
std::vector<T> list_from(PyObject* object, const Convert& convert) {
  const Owned list(PySequence_Fast(object, "expected a list or tuple"));
  std::vector<T> values;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.object); ++i)
    values.push_back(convert(PySequence_Fast_GET_ITEM(list.object, i)));
  return values;
}

void add_flags(CallByName& call, PyObject* object) {
  const std::vector<char> values = list_from<char>(object, boolean_from);
  const std::unique_ptr<bool[]> flags(new bool[values.size()]);
  std::copy(values.begin(), values.end(), flags.get());
  call.add_bool_array({flags.get(), values.size()});
}

void add(CallByName& call, Kind kind, PyObject* object) {
  if (object == Py_None && kind <= Kind::text) return call.add_none();
  switch (kind) {
    case Kind::tensor: return call.add_tensor(tensor_from(object));
    case Kind::scalar: return call.add_scalar(scalar_from(object));
    case Kind::int_array: return call.add_int_array(list_from<int64_t>(object, integer_from<int64_t>));
    case Kind::float_array: return call.add_float_array(list_from<float>(object, real_from));
    case Kind::bool_array: return add_flags(call, object);
    case Kind::tensor_list: return call.add_tensor_list(list_from<Tensor>(object, tensor_from));
    case Kind::scalar_list: return call.add_scalar_list(list_from<Scalar>(object, scalar_from));
    case Kind::text: return call.add_text(text_from(object));
    case Kind::data_type: return call.add_integer(data_type_from(object));
    case Kind::boolean: return call.add_integer(boolean_from(object));
    case Kind::integer: return call.add_integer(integer_from<int>(object));
    case Kind::int8: return call.add_integer(integer_from<int8_t>(object));
    case Kind::int32: return call.add_integer(integer_from<int32_t>(object));
    case Kind::int64: return call.add_integer(integer_from<int64_t>(object));
    case Kind::uint32: return call.add_integer(integer_from<uint32_t>(object));
    case Kind::uint64: return call.add_integer(integer_from<uint64_t>(object));
    case Kind::single:
    case Kind::real: return call.add_real(real_from(object));
  }
}

std::string misfit(const Operator& op, size_t i, PyObject* object, const char* why) {
  return join_text(op.name, ": argument '", npu::aclnn::parameter_names(op)[i], "' must fit ",
                   npu::aclnn::type_text(op.kinds[i]), ", got ", type_name(object), ": ", why);
}

void add_argument(CallByName& call, const Operator& op, size_t i, PyObject* object) {
  try {
    add(call, op.kinds[i], object);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::type) throw;
    fail(ErrorKind::type, misfit(op, i, object, error.what()));
  } catch (const PythonError&) {
    nb::python_error error;
    if (!error.matches(PyExc_TypeError)) throw error;
    const std::string why = nb::str(error.value()).c_str();
    nb::raise_from(error, PyExc_TypeError, "%s", misfit(op, i, object, why.c_str()).c_str());
  }
}

std::optional<int> device_of_tensor(PyObject* object) {
  if (!is_tensor(object) || tensor_of(object).device().type != npu::kSlot) return std::nullopt;
  return tensor_of(object).device().index;
}

// That of the first tensor, alone or in a list.
std::optional<int> device_of(PyObject* arguments) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); ++i) {
    PyObject* object = PyTuple_GET_ITEM(arguments, i);
    if (const auto found = device_of_tensor(object)) return found;
    if (!PyTuple_Check(object) && !PyList_Check(object)) continue;
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(object); ++k)
      if (const auto found = device_of_tensor(PySequence_Fast_GET_ITEM(object, k))) return found;
  }
  return std::nullopt;
}

const Operator& operator_of(std::string_view name) {
  const Operator* found = npu::aclnn::find_by_name(name);
  MT_CHECK_AS(value, found, "ACLNN has no operator '", name, "'.");
  return *found;
}

// Runs `then` with the launched call.
template <class Then>
auto called(std::string_view name, const nb::tuple& arguments, std::optional<int> device, const Then& then) {
  const Operator& op = operator_of(name);
  npu::aclnn::check_count(op, arguments.size());
  if (!device) device = device_of(arguments.ptr());
  MT_CHECK_AS(type, device, op.name,
              ": no argument is an npu tensor, so there is no device to run on; pass runtime=");
  CallByName call(op, *device);
  for (size_t i = 0; i < op.count; ++i)
    add_argument(call, op, i, PyTuple_GET_ITEM(arguments.ptr(), Py_ssize_t(i)));
  call.launch();
  return then(call);
}

void call_operator(std::string_view name, const nb::tuple& arguments, std::optional<int> device) {
  called(name, arguments, device, [](const CallByName&) {});
}

nb::list call_for_shapes(std::string_view name, const nb::tuple& arguments) {
  nb::list result;
  called(name, arguments, std::nullopt, [&](const CallByName& call) {
    for (const Dims& shape : call.shapes()) {
      nb::list sizes;
      for (int64_t size : shape) sizes.append(size);
      result.append(nb::tuple(sizes));
    }
  });
  return result;
}

std::vector<const char*> operator_names() {
  std::vector<const char*> names;
  for (const Operator& op : npu::aclnn::operators()) names.push_back(op.name);
  return names;
}

using Parameter = std::pair<std::string_view, const char*>;
std::optional<std::vector<Parameter>> operator_parameters(std::string_view name) {
  const Operator* op = npu::aclnn::find_by_name(name);
  if (!op) return std::nullopt;
  std::vector<Parameter> result;
  for (std::string_view parameter : npu::aclnn::parameter_names(*op))
    result.emplace_back(parameter, npu::aclnn::type_text(op->kinds[result.size()]));
  return result;
}

}  // namespace

void init_aclnn(nb::module_& m) {
  m.def("operator_names", &operator_names, "The ACLNN operators of the ABI description.");
  m.def("operator_parameters", &operator_parameters, "name"_a,
        "The name and type of each parameter; None for an operator that the description does not have.");
  m.def("call_operator", &call_operator, "name"_a, "arguments"_a, "device"_a = nb::none(),
        "Enqueues an ACLNN operator on the current stream of the device, or of that of its first tensor.");
  m.def("call_operator_for_shapes", &call_for_shapes, "name"_a, "arguments"_a,
        "Calls the operator, waits, and returns the shapes that the descriptors of its tensors have then.");
  m.def(
      "name_callers_of",
      [](nb::handle function) {
        g_passing_file = nb::object(function.attr("__code__").attr("co_filename")).release().ptr();
      },
      "function"_a,
      "Whoever asks where a launch came from hears of the caller of this function's file, not of a line in "
      "it.");
  m.def("launch_blocking", &npu::launch_blocking_asked,
        "Whether the environment asks, now, that every launch waits for its end.");
}

}  // namespace mt::bindings
