// An upstream whose functions a program may replace by Python ones: attributes of the object that owns the pool, named
// _raw_malloc, _raw_free, _mem_get_info, _sync_device, _record_event, _event_complete, _release_event; for segments
// that grow, _has_virtual_memory, _reserve_addresses, _release_addresses, _map_memory and _unmap_memory.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <memory>
#include <string>

#include "base/error.h"
#include "bindings/python_lock.h"
#include "runtime/upstream.h"

namespace mt::bindings {

// No Python code can run any more; device calls are pointless and dangerous.
bool interpreter_is_exiting();

// A Python callable that native threads may copy, call and drop without holding the GIL.
std::shared_ptr<PyObject> share_callable(nanobind::object callable);

// Runs Python code with the GIL. RuntimeErrors become mt::Error, so that native callers see one type;
// anything else (KeyboardInterrupt, TypeError) travels as the Python exception it is.
template <class Body>
auto with_python(Body body) {
  if (interpreter_is_exiting()) fail(ErrorKind::runtime, "The device is not used while the process exits.");
  PythonLock gil;
  nanobind::error_scope pending;  // memory is given back while an exception is on its way, too
  try {
    return body();
  } catch (nanobind::python_error& error) {
    if (!error.matches(PyExc_RuntimeError)) throw;
    throw Error(ErrorKind::runtime, nanobind::str(error.value()).c_str());
  }
}

// What is not replaced goes to the native upstream and takes no GIL. What is, is looked up at every call; all calls are
// on slow paths (see the note in runtime/upstream.h). The object is referenced weakly: it owns the pool that owns this.
class PythonUpstream final : public runtime::Upstream {
 public:
  PythonUpstream(PyObject* owner, std::shared_ptr<runtime::Upstream> native);  // with the GIL
  ~PythonUpstream() override;

  // An attribute of the owner was replaced, or put back. Other names say nothing.
  void set_replaced(const std::string& name, bool replaced);
  static std::vector<std::string> hook_names();
  runtime::Upstream& native() { return *native_; }

  runtime::RawMemory allocate(size_t bytes) override;
  void free(runtime::Address address) override;
  runtime::MemoryInfo memory_info() override;
  void synchronize() override;
  // An event of a replaced _record_event is a strong reference to whatever that returned; it is told from a native one
  // by its lowest bit.
  runtime::EventHandle record_event(runtime::StreamHandle stream) override;
  bool event_is_complete(runtime::EventHandle event) override;
  void release_event(runtime::EventHandle event) noexcept override;
  bool has_virtual_memory() override;
  runtime::Address reserve(size_t bytes) override;
  void unreserve(runtime::Address address) override;
  runtime::Mapping map(runtime::Address address, size_t bytes) override;
  void unmap(runtime::Address address, runtime::MappingHandle handle) override;
  void wait_for_turn(std::recursive_mutex& turn) override { native_->wait_for_turn(turn); }

 private:
  enum Hook : uint32_t;
  bool replaced(Hook hook) const { return replaced_.load(std::memory_order_acquire) >> hook & 1; }

  PyObject* weak_owner_;
  const std::shared_ptr<runtime::Upstream> native_;
  std::atomic<uint32_t> replaced_{0};  // a bit for each Hook
};

}  // namespace mt::bindings
