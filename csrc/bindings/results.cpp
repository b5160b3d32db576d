#include "bindings/results.h"

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

}  // namespace mt::bindings
