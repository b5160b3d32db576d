// nn.Module's attributes: weights, buffers and modules lie in tables of their own, where Python's lookup finds nothing.
#include <nanobind/nanobind.h>

#include <array>

namespace mt::bindings {

namespace nb = nanobind;

namespace {

std::array<PyObject*, 3> g_tables;  // their names, in the order in which they are asked

// A new reference; null with no error set where the table has no such entry. Some programs' tables are classes of
// theirs, which do something when an entry is read.
PyObject* entry(PyObject* table, PyObject* name) {
  if (PyDict_CheckExact(table)) return Py_XNewRef(PyDict_GetItemWithError(table, name));
  const int there = PySequence_Contains(table, name);
  return there > 0 ? PyObject_GetItem(table, name) : nullptr;
}

// Module.__getattr__. Programs come here for every weight they read.
PyObject* get_attribute(PyObject* self, PyObject* name) {
  if (!PyUnicode_Check(name)) {
    PyErr_Format(PyExc_TypeError, "__getattr__(): wanted a name, got a %s", Py_TYPE(name)->tp_name);
    return nullptr;
  }
  const nb::object attributes = nb::steal(PyObject_GenericGetDict(self, nullptr));
  if (!attributes.is_valid()) return nullptr;
  for (PyObject* table_name : g_tables) {
    // Before Module.__init__ there are none.
    PyObject* table = PyDict_GetItemWithError(attributes.ptr(), table_name);
    PyObject* found = table ? entry(table, name) : nullptr;
    if (found || PyErr_Occurred()) return found;
  }
  PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute '%U'", Py_TYPE(self)->tp_name, name);
  return nullptr;
}

PyMethodDef g_get_attribute = {"__getattr__", get_attribute, METH_O,
                               "The parameter, module or buffer of that name."};

}  // namespace

void init_modules(nb::module_& m) {
  const std::array<const char*, 3> names = {"_parameters", "_modules", "_buffers"};
  for (size_t i = 0; i < names.size(); ++i) {
    g_tables[i] = PyUnicode_InternFromString(names[i]);
    if (!g_tables[i]) throw nb::python_error();
  }
  PyObject* method = PyDescr_NewMethod(&PyBaseObject_Type, &g_get_attribute);
  if (!method) throw nb::python_error();
  m.attr("_module_getattr") = nb::steal(method);
}

}  // namespace mt::bindings
