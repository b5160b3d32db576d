#include "bindings/python_calls.h"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/recorder.h"

namespace mt::bindings {
namespace {

using profiler::Recorder;

// Names of what was called, by code object and line and by native method and type. They and the code objects are kept
// for ever, because recorded events point to them. Guarded by the GIL. An empty name is not shown.
using FunctionNames = std::map<std::pair<PyCodeObject*, int>, std::string>;
using MethodNames = std::map<std::pair<const PyMethodDef*, PyTypeObject*>, std::string>;
FunctionNames& g_functions = *new FunctionNames;
MethodNames& g_methods = *new MethodNames;

std::string_view text_of(PyObject* text) {
  Py_ssize_t size = 0;
  const char* characters = PyUnicode_AsUTF8AndSize(text, &size);
  if (characters) return {characters, size_t(size)};
  PyErr_Clear();  // a name that is no text is no reason to stop the program that is looked at
  return "?";
}

// Where the profiler itself lies, which is no part of the picture.
std::vector<std::string> g_hidden;

bool is_hidden(std::string_view file) {
  return std::ranges::any_of(g_hidden, [&](const std::string& place) { return file.starts_with(place); });
}

const std::string& name_of(PyCodeObject* code, int line) {
  const auto [found, added] = g_functions.try_emplace({code, line});
  if (!added) return found->second;
  Py_INCREF(code);
  const std::string_view file = text_of(code->co_filename);
  if (!is_hidden(file))
    found->second =
        std::string(file) + "(" + std::to_string(line) + "): " + std::string(text_of(code->co_name));
  return found->second;
}

const std::string& name_of(PyCFunctionObject* function) {
  PyObject* self = function->m_self;
  const bool free = !self || PyModule_Check(self);
  PyTypeObject* type = free ? nullptr : Py_TYPE(self);
  const auto [found, added] = g_methods.try_emplace({function->m_ml, type});
  if (!added) return found->second;
  Py_XINCREF(type);
  const std::string name = function->m_ml->ml_name;
  found->second = free ? "<built-in function " + name + ">"
                       : "<built-in method " + name + " of " + type->tp_name + " object>";
  return found->second;
}

// A native call is told from that of the frame it is made in.
const void* native(PyFrameObject* frame) { return reinterpret_cast<const char*>(frame) + 1; }

// The frames around `frame`, and `frame` itself if it `is_open`, from the outside.
void add_callers(PyFrameObject* frame, bool is_open) {
  std::vector<PyFrameObject*> around;
  for (PyFrameObject* each = PyFrame_GetBack(frame); each; each = PyFrame_GetBack(each))
    around.push_back(each);
  if (is_open) around.insert(around.begin(), (Py_INCREF(frame), frame));
  for (size_t i = around.size(); i-- > 0;) {
    PyCodeObject* code = PyFrame_GetCode(around[i]);
    const std::string& name = name_of(code, PyFrame_GetLineNumber(around[i]));
    if (!name.empty()) Recorder::get().add_caller(name.c_str(), around[i]);
    Py_DECREF(code);
    Py_DECREF(around[i]);
  }
}

int on_call(PyObject*, PyFrameObject* frame, int what, PyObject* called) {
  Recorder& recorder = Recorder::get();
  if (recorder.wants_callers()) add_callers(frame, what != PyTrace_CALL);
  if (what == PyTrace_CALL) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    const std::string& name = name_of(code, code->co_firstlineno);
    if (!name.empty()) recorder.begin_call(name.c_str(), frame);
    Py_DECREF(code);
  } else if (what == PyTrace_RETURN) {
    recorder.end_call(frame);
  } else if (what == PyTrace_C_CALL && called && PyCFunction_Check(called)) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    const bool shown = !name_of(code, code->co_firstlineno).empty();
    if (shown)
      recorder.begin_call(name_of(reinterpret_cast<PyCFunctionObject*>(called)).c_str(), native(frame));
    Py_DECREF(code);
  } else if (what == PyTrace_C_RETURN || what == PyTrace_C_EXCEPTION) {
    recorder.end_call(native(frame));
  }
  return 0;
}

bool g_watching = false;  // guarded by the GIL

#if PY_VERSION_HEX < 0x030C0000
// From one profile function, or none, to another, in every thread that has it.
void exchange(Py_tracefunc from, Py_tracefunc to) {
  PyInterpreterState* interpreter = PyThreadState_GetInterpreter(PyThreadState_Get());
  for (PyThreadState* thread = PyInterpreterState_ThreadHead(interpreter); thread;
       thread = PyThreadState_Next(thread))
    if (thread->c_profilefunc == from && _PyEval_SetProfile(thread, to, nullptr) < 0)
      throw nanobind::python_error();
}
#else
void exchange(Py_tracefunc, Py_tracefunc to) { PyEval_SetProfileAllThreads(to, nullptr); }
#endif

}  // namespace

void hide_python_calls(std::vector<std::string> places) { g_hidden = std::move(places); }

void watch_python_calls() {
  g_watching = true;
  exchange(nullptr, on_call);
}

void watch_python_calls_here() { PyEval_SetProfile(g_watching ? on_call : nullptr, nullptr); }

void unwatch_python_calls() {
  if (!g_watching) return;
  g_watching = false;
  exchange(on_call, nullptr);
}

}  // namespace mt::bindings
