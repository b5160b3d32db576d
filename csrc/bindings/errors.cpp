#include "bindings/errors.h"

#include <nanobind/nanobind.h>

namespace mt::bindings {

PyObject* g_out_of_memory_error = nullptr;
PyObject* g_accelerator_error = nullptr;
PyObject* g_linear_algebra_error = nullptr;

namespace {

PyObject* python_type(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::type: return PyExc_TypeError;
    case ErrorKind::value: return PyExc_ValueError;
    case ErrorKind::index: return PyExc_IndexError;
    case ErrorKind::not_implemented: return PyExc_NotImplementedError;
    case ErrorKind::buffer: return PyExc_BufferError;
    case ErrorKind::overflow: return PyExc_OverflowError;
    case ErrorKind::out_of_memory: return g_out_of_memory_error ? g_out_of_memory_error : PyExc_RuntimeError;
    case ErrorKind::linear_algebra:
      return g_linear_algebra_error ? g_linear_algebra_error : PyExc_RuntimeError;
    default: return PyExc_RuntimeError;
  }
}

void set_accelerator_error(const DeviceError& error) {
  PyObject* made = PyObject_CallFunction(g_accelerator_error, "s", error.what());
  PyObject* code = made ? PyLong_FromLong(error.code()) : nullptr;
  if (code && PyObject_SetAttrString(made, "error_code", code) == 0)
    PyErr_SetObject(g_accelerator_error, made);
  Py_XDECREF(code);
  Py_XDECREF(made);
}

}  // namespace

void set_python_error() {
  try {
    throw;
  } catch (const DeviceError& error) { set_accelerator_error(error); } catch (const Error& error) {
    PyErr_SetString(python_type(error.kind()), error.what());
  } catch (const PythonError&) {
    if (!PyErr_Occurred())
      PyErr_SetString(PyExc_SystemError, "an error was reported without a Python exception");
  } catch (nanobind::python_error& error) { error.restore(); } catch (const std::bad_alloc&) {
    PyErr_SetString(PyExc_MemoryError, "the host is out of memory");
  } catch (const std::exception& error) { PyErr_SetString(PyExc_RuntimeError, error.what()); }
}

}  // namespace mt::bindings
