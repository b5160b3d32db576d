#include "bindings/python_upstream.h"

#include <nanobind/stl/pair.h>

#include <algorithm>
#include <array>

namespace nb = nanobind;

namespace mt::bindings {

using runtime::Address;
using runtime::EventHandle;
using runtime::Mapping;
using runtime::MappingHandle;
using runtime::MemoryInfo;
using runtime::RawMemory;
using runtime::StreamHandle;

bool interpreter_is_exiting() {
#if PY_VERSION_HEX >= 0x030d0000
  return !Py_IsInitialized() || Py_IsFinalizing();
#else
  return !Py_IsInitialized() || _Py_IsFinalizing();
#endif
}

std::shared_ptr<PyObject> share_callable(nb::object callable) {
  return {callable.release().ptr(), [](PyObject* object) {
            if (interpreter_is_exiting()) return;
            PythonLock gil;
            Py_DECREF(object);
          }};
}

enum PythonUpstream::Hook : uint32_t {
  kMalloc,
  kFree,
  kMemoryInfo,
  kSynchronize,
  kRecordEvent,
  kEventComplete,
  kReleaseEvent,
  kHasVirtualMemory,
  kReserve,
  kUnreserve,
  kMap,
  kUnmap,
  kHooks
};

namespace {

constexpr std::array<const char*, 12> kNames = {
    "_raw_malloc",        "_raw_free",          "_mem_get_info",  "_sync_device",
    "_record_event",      "_event_complete",    "_release_event", "_has_virtual_memory",
    "_reserve_addresses", "_release_addresses", "_map_memory",    "_unmap_memory",
};

nb::object hook(PyObject* weak_owner, uint32_t which) {
  // PyWeakref_GetObject (removed in 3.15) and PyWeakref_GetRef (new in 3.13) do not overlap over all
  // versions; calling the reference works everywhere.
  nb::object owner = nb::steal(PyObject_CallNoArgs(weak_owner));
  if (!owner.is_valid()) nb::raise_python_error();
  if (owner.is_none())
    fail(ErrorKind::runtime, kNames[which], ": the allocator object of this memory pool no longer exists.");
  return owner.attr(kNames[which]);
}

// Objects and native events are at least two bytes apart from zero in their lowest bit.
constexpr EventHandle kPythonEvent = 1;
bool is_python_event(EventHandle event) { return event & kPythonEvent; }
PyObject* object_of(EventHandle event) { return reinterpret_cast<PyObject*>(event & ~kPythonEvent); }

nb::object as_python(EventHandle event) {
  return is_python_event(event) ? nb::borrow(object_of(event)) : nb::object(nb::int_(event));
}

}  // namespace

PythonUpstream::PythonUpstream(PyObject* owner, std::shared_ptr<runtime::Upstream> native)
    : weak_owner_(PyWeakref_NewRef(owner, nullptr)), native_(std::move(native)) {
  static_assert(kNames.size() == kHooks);
  if (!weak_owner_) nb::raise_python_error();
}

PythonUpstream::~PythonUpstream() {
  if (interpreter_is_exiting()) return;
  PythonLock gil;
  Py_DECREF(weak_owner_);
}

std::vector<std::string> PythonUpstream::hook_names() { return {kNames.begin(), kNames.end()}; }

void PythonUpstream::set_replaced(const std::string& name, bool replaced) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return;
  const uint32_t bit = 1u << (found - kNames.begin());
  if (replaced) replaced_.fetch_or(bit);
  else replaced_.fetch_and(~bit);
}

RawMemory PythonUpstream::allocate(size_t bytes) {
  if (!replaced(kMalloc)) return native_->allocate(bytes);
  try {
    return with_python([&]() -> RawMemory {
      nb::object answer = hook(weak_owner_, kMalloc)(bytes);
      const auto [address, size] = nb::cast<std::pair<Address, size_t>>(answer);
      if (address == 0 || size < bytes)
        fail(ErrorKind::type, "_raw_malloc must return (address, size) with at least ", bytes,
             " bytes or raise RuntimeError; it returned address ", address, " and size ", size, ".");
      return {address, size, {}};
    });
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::runtime) throw;
    return {0, 0, error.what()};
  }
}

void PythonUpstream::free(Address address) {
  if (interpreter_is_exiting()) return;  // the system takes the memory back
  if (!replaced(kFree)) return native_->free(address);
  with_python([&] { hook(weak_owner_, kFree)(address); });
}

MemoryInfo PythonUpstream::memory_info() {
  if (!replaced(kMemoryInfo)) return native_->memory_info();
  return with_python([&]() -> MemoryInfo {
    const auto [free, total] = nb::cast<std::pair<size_t, size_t>>(hook(weak_owner_, kMemoryInfo)());
    return {free, total};
  });
}

void PythonUpstream::synchronize() {
  if (!replaced(kSynchronize)) return native_->synchronize();
  with_python([&] { hook(weak_owner_, kSynchronize)(); });
}

EventHandle PythonUpstream::record_event(StreamHandle stream) {
  if (!replaced(kRecordEvent)) return native_->record_event(stream);
  return with_python([&] {
    nb::object event = hook(weak_owner_, kRecordEvent)(stream);
    return EventHandle(event.release().ptr()) | kPythonEvent;
  });
}

bool PythonUpstream::event_is_complete(EventHandle event) {
  if (!replaced(kEventComplete) && !is_python_event(event)) return native_->event_is_complete(event);
  return with_python([&] {
    nb::object answer = hook(weak_owner_, kEventComplete)(as_python(event));
    const int truth = PyObject_IsTrue(answer.ptr());
    if (truth < 0) nb::raise_python_error();
    return truth != 0;
  });
}

void PythonUpstream::release_event(EventHandle event) noexcept {
  if (interpreter_is_exiting()) return;
  if (!replaced(kReleaseEvent) && !is_python_event(event)) return native_->release_event(event);
  PythonLock gil;
  nb::error_scope pending;
  nb::object object = is_python_event(event) ? nb::steal(object_of(event)) : as_python(event);
  nb::object owner = nb::steal(PyObject_CallNoArgs(weak_owner_));
  if (!owner.is_valid() || owner.is_none()) {
    PyErr_Clear();  // the owner is gone: the event object's own destructor cleans up
    return;
  }
  nb::object done = nb::steal(PyObject_CallMethod(owner.ptr(), kNames[kReleaseEvent], "O", object.ptr()));
  if (!done.is_valid()) PyErr_WriteUnraisable(owner.ptr());
}

bool PythonUpstream::has_virtual_memory() {
  if (!replaced(kHasVirtualMemory)) return native_->has_virtual_memory();
  return with_python([&] { return nb::cast<bool>(hook(weak_owner_, kHasVirtualMemory)()); });
}

Address PythonUpstream::reserve(size_t bytes) {
  if (!replaced(kReserve)) return native_->reserve(bytes);
  return with_python([&] { return nb::cast<Address>(hook(weak_owner_, kReserve)(bytes)); });
}

void PythonUpstream::unreserve(Address address) {
  if (interpreter_is_exiting()) return;
  if (!replaced(kUnreserve)) return native_->unreserve(address);
  with_python([&] { hook(weak_owner_, kUnreserve)(address); });
}

Mapping PythonUpstream::map(Address address, size_t bytes) {
  if (!replaced(kMap)) return native_->map(address, bytes);
  try {
    return with_python(
        [&]() -> Mapping { return {nb::cast<MappingHandle>(hook(weak_owner_, kMap)(address, bytes)), {}}; });
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::runtime) throw;
    return {0, error.what()};
  }
}

void PythonUpstream::unmap(Address address, MappingHandle handle) {
  if (interpreter_is_exiting()) return;  // the system takes the memory back
  if (!replaced(kUnmap)) return native_->unmap(address, handle);
  with_python([&] { hook(weak_owner_, kUnmap)(address, handle); });
}

}  // namespace mt::bindings
