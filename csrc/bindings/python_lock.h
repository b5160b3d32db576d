// Python's lock, held or given up for a scope.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <unistd.h>

namespace mt::bindings {

// Note [Threads that outlive the interpreter]
// While the interpreter ends, Python before 3.14 ends every daemon thread that asks for the lock: pthread_exit unwinds
// through our frames, and the first destructor on its way terminates the whole process. A thread that is to end sleeps
// here instead, as it does in Python 3.14; the end of the process takes it.
template <class Take>
auto take_or_sleep(Take take) {
  try {
    return take();
  } catch (...) {
    for (;;) pause();
  }
}

inline void take_python_lock(PyThreadState* state) {
  take_or_sleep([&] { PyEval_RestoreThread(state); });
}

class PythonLock {
 public:
  PythonLock() : state_(take_or_sleep(PyGILState_Ensure)) {}
  ~PythonLock() { PyGILState_Release(state_); }
  PythonLock(const PythonLock&) = delete;

 private:
  PyGILState_STATE state_;
};

class WithoutPythonLock {
 public:
  WithoutPythonLock() : state_(PyEval_SaveThread()) {}
  ~WithoutPythonLock() { take_python_lock(state_); }
  WithoutPythonLock(const WithoutPythonLock&) = delete;

 private:
  PyThreadState* state_;
};

}  // namespace mt::bindings
