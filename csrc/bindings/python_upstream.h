// An upstream whose functions are attributes of a Python object: _raw_malloc, _raw_free, _mem_get_info,
// _sync_device, _record_event, _event_complete and _release_event; for segments that grow, _has_virtual_memory,
// _reserve_addresses, _release_addresses, _map_memory and _unmap_memory.
#pragma once

#include <Python.h>

#include "runtime/upstream.h"

namespace mt::bindings {

// The attributes are looked up at every call, so that replacing one on the object takes effect. All calls are
// on slow paths (see the note in runtime/upstream.h) and take the GIL. The object is referenced weakly: it
// owns the pool that owns this.
class PythonUpstream final : public runtime::Upstream {
 public:
  explicit PythonUpstream(PyObject* owner);  // with the GIL
  ~PythonUpstream() override;

  runtime::RawMemory allocate(size_t bytes) override;
  void free(runtime::Address address) override;
  runtime::MemoryInfo memory_info() override;
  void synchronize() override;
  // An event is a strong reference to whatever _record_event returned.
  runtime::EventHandle record_event(runtime::StreamHandle stream) override;
  bool event_is_complete(runtime::EventHandle event) override;
  void release_event(runtime::EventHandle event) noexcept override;
  bool has_virtual_memory() override;
  runtime::Address reserve(size_t bytes) override;
  void unreserve(runtime::Address address) override;
  runtime::Mapping map(runtime::Address address, size_t bytes) override;
  void unmap(runtime::Address address, runtime::MappingHandle handle) override;
  // Gives the GIL up while waiting: the thread whose turn it is needs it.
  void wait_for_turn(std::recursive_mutex& turn) override;

 private:
  PyObject* weak_owner_;
};

// No Python code can run any more; device calls are pointless and dangerous.
bool interpreter_is_exiting();

}  // namespace mt::bindings
