// Where Python is, without the frame object that PyEval_GetFrame makes for a function that had none.
#pragma once

#include <Python.h>

#if PY_VERSION_HEX < 0x030c0000
#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>  // Python 3.11 has no function for this, and its last release is out
#undef Py_BUILD_CORE
#endif

namespace mt::bindings {

struct CodePosition {
  PyCodeObject* code = nullptr;  // a new reference; none when no Python code runs
  int instruction = 0;           // bytes into it
};

// The file of functions that only pass a call on: the line to name is their caller's. Every code object of a file has the
// same object for its name.
inline PyObject* g_passing_file = nullptr;

// Costs a few frame objects.
inline CodePosition position_of_caller() {
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  CodePosition found;
  while (frame && !found.code) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    if (code->co_filename == g_passing_file) Py_DECREF(code);
    else found = {code, PyFrame_GetLasti(frame)};
    PyFrameObject* caller = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = caller;
  }
  Py_XDECREF(frame);
  return found;
}

// With the GIL.
inline CodePosition code_position() {
#if PY_VERSION_HEX < 0x030d0000
  _PyInterpreterFrame* frame = PyThreadState_Get()->cframe->current_frame;
#else
  _PyInterpreterFrame* frame = PyThreadState_Get()->current_frame;
#endif
  if (!frame) return {};
#if PY_VERSION_HEX < 0x030c0000
  PyCodeObject* code = frame->f_code;
  if (code->co_filename == g_passing_file) [[unlikely]]
    return position_of_caller();
  Py_INCREF(code);
  return {code, _PyInterpreterFrame_LASTI(frame) * int(sizeof(_Py_CODEUNIT))};
#else
  auto* code = reinterpret_cast<PyCodeObject*>(PyUnstable_InterpreterFrame_GetCode(frame));
  if (code->co_filename == g_passing_file) [[unlikely]] {
    Py_DECREF(code);
    return position_of_caller();
  }
  return {code, PyUnstable_InterpreterFrame_GetLasti(frame)};
#endif
}

}  // namespace mt::bindings
