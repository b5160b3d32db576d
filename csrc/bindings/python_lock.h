// Python's lock, held or given up for a scope.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>

namespace mt::bindings {

// Note [Threads that outlive the interpreter]
// While the interpreter ends, Python before 3.14 ends every daemon thread that asks for the lock: pthread_exit unwinds
// through our frames, and the first destructor on its way terminates the whole process. So such a thread sleeps instead,
// as it does in Python 3.14; the end of the process takes it. It would also be ended inside Python code that we call.
// Therefore, just before the interpreter ends (end_calls_into_python), threads that are in such code get a moment to come
// back, and none goes in any more.
inline std::atomic<bool> g_interpreter_ends{false};
inline std::atomic<int> g_calls_into_python{0};
inline pthread_t g_ending_thread;

inline bool outlives_interpreter() {
  return g_interpreter_ends.load() && !pthread_equal(pthread_self(), g_ending_thread);
}

[[noreturn]] inline void sleep_for_ever() {
  if (PyGILState_Check()) PyEval_SaveThread();
  for (;;) pause();
}

template <class Take>
auto take_or_sleep(Take take) {
  try {
    return take();
  } catch (...) {
    for (;;) pause();
  }
}

inline void take_python_lock(PyThreadState* state) {
  if (outlives_interpreter()) sleep_for_ever();
  take_or_sleep([&] { PyEval_RestoreThread(state); });
}

class PythonLock {
 public:
  PythonLock() : state_(enter()) {}
  ~PythonLock() {
    PyGILState_Release(state_);
    --g_calls_into_python;
  }
  PythonLock(const PythonLock&) = delete;

 private:
  static PyGILState_STATE enter() {
    ++g_calls_into_python;
    if (outlives_interpreter()) {
      --g_calls_into_python;
      sleep_for_ever();
    }
    return take_or_sleep(PyGILState_Ensure);
  }
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

// Called by the thread that ends the interpreter. A call that does not come back within a second is left to its fate.
inline void end_calls_into_python() {
  g_ending_thread = pthread_self();
  g_interpreter_ends = true;
  WithoutPythonLock others_may_run;
  for (int waited = 0; g_calls_into_python.load() > 0 && waited < 1000; ++waited) usleep(1000);
}

}  // namespace mt::bindings
