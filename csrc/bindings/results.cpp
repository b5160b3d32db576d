#include "bindings/results.h"

#include "autograd/node.h"
#include "autograd/write_results.h"

#include "bindings/errors.h"

namespace mt::bindings {

PyTypeObject* return_type(const char* name, std::initializer_list<const char*> fields) {
  std::vector<PyStructSequence_Field> entries;
  for (const char* field : fields) entries.push_back({field, nullptr});
  entries.push_back({nullptr, nullptr});
  PyStructSequence_Desc description = {name, nullptr, entries.data(), int(fields.size())};
  PyTypeObject* type = PyStructSequence_NewType(&description);
  if (!type) throw PythonError();
  return type;
}

PyObject* wrap_named(PyTypeObject* type, std::initializer_list<Tensor> values) {
  PyObject* result = PyStructSequence_New(type);
  if (!result) throw PythonError();
  Py_ssize_t at = 0;
  for (const Tensor& value : values) PyStructSequence_SetItem(result, at++, wrap(value));
  return result;
}

PyObject* pinned(PyObject* tensor) {
  PyObject* npu = PyImport_ImportModule("mindtorch_v2.npu");
  PyObject* available = npu ? PyObject_CallMethod(npu, "is_available", nullptr) : nullptr;
  const int there = available ? PyObject_IsTrue(available) : -1;
  Py_XDECREF(available);
  Py_XDECREF(npu);
  PyObject* result = there == 1 ? PyObject_CallMethod(tensor, "pin_memory", nullptr) : nullptr;
  Py_DECREF(tensor);
  MT_CHECK(
      there != 0,
      "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is available "
      "on this system.");
  if (!result) throw PythonError();
  return result;
}

void take_options_of(const Tensor& out, TensorOptions& options) {
  MT_CHECK(!options.dtype || *options.dtype == out.dtype(), "dtype ",
           info(options.dtype.value_or(out.dtype())).legacy, " does not match dtype of out parameter (",
           info(out.dtype()).legacy, ")");
  MT_CHECK(!options.device || options.device->type == out.device().type, "device type ",
           name_of(options.device.value_or(out.device()).type),
           " does not match device type of out parameter (", name_of(out.device().type), ")");
  MT_CHECK(
      !autograd::any_needs_grad(out),
      "functions with out=... arguments don't support automatic differentiation, but one of the arguments "
      "requires grad.");
  options.dtype = out.dtype();
  options.device = out.device();
}

void write_made(const Tensor& out, const Tensor& made, const TensorOptions& options) {
  composite::write_out(out, made);
  if (options.requires_grad) out.impl()->requires_grad = true;
}

}  // namespace mt::bindings
