#include "bindings/results.h"
#include "core/accelerator.h"

#include <structmember.h>

#include <algorithm>
#include <map>

#include "autograd/node.h"
#include "bindings/errors.h"
#include "bindings/owned.h"
#include "bindings/return_types.h"
#include "core/intercept.h"
#include "core/warn.h"
#include "generated/ops/view.h"
#include "ops/results.h"

namespace mt::bindings {

namespace {

struct ReturnType {
  std::vector<const char*> fields;
  PyTypeObject* type = nullptr;
};
constexpr std::string_view kPrefix = "torch.return_types.";
std::string short_name(std::string_view full) { return std::string(full.substr(kPrefix.size())); }

std::map<std::string, ReturnType>& return_types() {
  static std::map<std::string, ReturnType> table;
  return table;
}

// A line per field: tensors take several.
PyObject* show(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Owned lines(PyList_New(0));
  for (PyMemberDef* field = type->tp_members; field && field->name; ++field) {
    const Owned value(PyObject_GetAttrString(self, field->name));
    if (!value.object) return nullptr;
    const Owned line(PyUnicode_FromFormat("%s=%R", field->name, value.object));
    if (!line.object || PyList_Append(lines.object, line.object) < 0) return nullptr;
  }
  const Owned comma(PyUnicode_FromString(",\n"));
  const Owned joined(PyUnicode_Join(comma.object, lines.object));
  if (!joined.object) return nullptr;
  return PyUnicode_FromFormat("%s(\n%U)", type->tp_name, joined.object);
}

// Shown as torch.return_types.max, and found by pickle in the module of the package.
PyTypeObject* make_type(const std::string& name, const ReturnType& declared) {
  std::vector<PyStructSequence_Field> entries;
  for (const char* field : declared.fields) entries.push_back({field, nullptr});
  entries.push_back({nullptr, nullptr});
  const std::string full = std::string(kPrefix) + name;
  PyStructSequence_Desc description = {full.c_str(), nullptr, entries.data(), int(declared.fields.size())};
  PyTypeObject* type = PyStructSequence_NewType(&description);
  if (!type) throw PythonError();
  const Owned module(PyUnicode_FromString("mindtorch_v2.return_types"));
  if (PyObject_SetAttrString(reinterpret_cast<PyObject*>(type), "__module__", module.object) < 0)
    throw PythonError();
  type->tp_repr = show;
  return type;
}

}  // namespace

void declare_return_type(const char* name, std::initializer_list<const char*> fields) {
  return_types()[short_name(name)].fields = fields;
}

PyTypeObject* return_type(const char* name, std::initializer_list<const char*> fields) {
  ReturnType& known = return_types()[short_name(name)];
  if (known.fields.empty()) known.fields = fields;
  if (!known.type) known.type = make_type(short_name(name), known);
  return known.type;
}

PyObject* parsed_to(std::optional<Device> device, std::optional<DType> dtype, bool non_blocking, bool copy,
                    std::optional<MemoryFormat> memory_format) {
  MT_CHECK(!copy, ".to() does not accept copy argument");
  const Owned where(device ? device_object(*device) : returned(Py_None));
  const Owned what(dtype ? dtype_object(*dtype) : returned(Py_None));
  const Owned how(memory_format ? memory_format_object(*memory_format) : returned(Py_None));
  return PyTuple_Pack(4, where.object, what.object, non_blocking ? Py_True : Py_False, how.object);
}

PyTypeObject* return_type_named(const std::string& name) {
  const auto found = return_types().find(name);
  if (found == return_types().end()) return nullptr;
  if (!found->second.type) found->second.type = make_type(name, found->second);
  return found->second.type;
}

std::vector<std::string> return_type_names() {
  std::vector<std::string> names;
  for (const auto& [name, declared] : return_types()) names.push_back(name);
  return names;
}

PyObject* wrap_named(PyTypeObject* type, std::initializer_list<Tensor> values) {
  PyObject* result = PyStructSequence_New(type);
  if (!result) throw PythonError();
  Py_ssize_t at = 0;
  for (const Tensor& value : values) PyStructSequence_SetItem(result, at++, wrap(value));
  return result;
}

PyObject* pinned(PyObject* tensor) {
  const bool there = accelerator(main_accelerator()).is_available();
  PyObject* result = there ? PyObject_CallMethod(tensor, "pin_memory", nullptr) : nullptr;
  Py_DECREF(tensor);
  MT_CHECK(
      there,
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

void write_numbers(const Tensor& out, const Tensor& made, const TensorOptions& options, bool tells) {
  if (tells && out.numel() != made.numel() && out.numel() != 0)
    warn(join_text("The number of elements in the out tensor of shape ", to_string(out.sizes()), " is ",
                   out.numel(), " which does not match the computed number of elements ", made.numel(),
                   ". Note that this may occur as a result of rounding error. The out tensor will be resized "
                   "to a tensor of shape (",
                   made.numel(), ",)."));
  write_made(out, out.numel() == made.numel() ? made.reshape(out.sizes()) : made, options);
}

void write_made(const Tensor& out, const Tensor& made, const TensorOptions& options) {
  if (!special(out) && !std::ranges::equal(out.sizes(), made.sizes())) ops::resize_(out, made.sizes());
  results::write_out(out, made);
  if (options.requires_grad) out.impl()->requires_grad = true;
}

}  // namespace mt::bindings
