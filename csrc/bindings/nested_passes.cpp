#include "bindings/nested_passes.h"

#include <thread>

#include "base/per_thread.h"
#include "bindings/errors.h"
#include "bindings/node_object.h"
#include "bindings/python_lock.h"
#include "core/thread_state.h"

namespace mt::bindings {
namespace {

constexpr int kMostOnAThread = 60;

struct Levels {
  int inside = 0;
};
constinit PerThread<Levels> t_levels;

struct Level {
  Level() { ++t_levels->inside; }
  ~Level() { --t_levels->inside; }
};

void take_modes(ThreadState& to, const ThreadState& from) {
  to.grad_enabled = from.grad_enabled;
  to.inference = from.inference;
  to.overrides_enabled = from.overrides_enabled;
  to.packer = from.packer;
  to.default_device = from.default_device;
  for (int type = 0; type < kDeviceTypes; ++type) {
    to.current[type].index = from.current[type].index;
    to.current[type].stream = from.current[type].stream;
  }
}

void run_elsewhere(const std::function<void()>& pass) {
  std::exception_ptr error;
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;  // a Python error is its thread's alone
  const ThreadState& here = thread_state();
  PyThreadState* waiting = PyEval_SaveThread();
  std::thread([&] {
    take_modes(thread_state(), here);
    const PythonLock gil;
    try {
      pass();
    } catch (...) {
      error = std::current_exception();
      PyErr_Fetch(&type, &value, &trace);
    }
  }).join();
  take_python_lock(waiting);
  if (type) PyErr_Restore(type, value, trace);
  if (error) std::rethrow_exception(error);
}

// What hooks enter and leave of saved_tensors_hooks while a pass runs ends with it.
struct KeepPackers {
  Packers before = thread_state().packer ? packers_of_thread() : Packers();
  ~KeepPackers() {
    if (thread_state().packer || !before.empty()) put_packers_back(std::move(before));
  }
};

}  // namespace

void run_level(const std::function<void()>& pass) {
  const Level level;
  const KeepPackers packers;
  if (t_levels->inside <= kMostOnAThread) pass();
  else run_elsewhere(pass);
}

}  // namespace mt::bindings
