#include "bindings/python_upstream.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>

#include "base/error.h"
#include "bindings/python_lock.h"

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

namespace {

nb::object hook(PyObject* weak_owner, const char* name) {
  // PyWeakref_GetObject (removed in 3.15) and PyWeakref_GetRef (new in 3.13) do not overlap over all
  // versions; calling the reference works everywhere.
  nb::object owner = nb::steal(PyObject_CallNoArgs(weak_owner));
  if (!owner.is_valid()) nb::raise_python_error();
  if (owner.is_none())
    fail(ErrorKind::runtime, name, ": the allocator object of this memory pool no longer exists.");
  return owner.attr(name);
}

// Runs Python code with the GIL. RuntimeErrors become mt::Error, so that native callers see one type;
// anything else (KeyboardInterrupt, TypeError) travels as the Python exception it is.
template <class Body>
auto with_python(Body body) {
  if (interpreter_is_exiting()) fail(ErrorKind::runtime, "The device is not used while the process exits.");
  PythonLock gil;
  nb::error_scope pending;  // memory is given back while an exception is on its way, too
  try {
    return body();
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_RuntimeError)) throw;
    throw Error(ErrorKind::runtime, nb::str(error.value()).c_str());
  }
}

}  // namespace

PythonUpstream::PythonUpstream(PyObject* owner) : weak_owner_(PyWeakref_NewRef(owner, nullptr)) {
  if (!weak_owner_) nb::raise_python_error();
}

PythonUpstream::~PythonUpstream() {
  if (interpreter_is_exiting()) return;
  PythonLock gil;
  Py_DECREF(weak_owner_);
}

RawMemory PythonUpstream::allocate(size_t bytes) {
  try {
    return with_python([&]() -> RawMemory {
      nb::object answer = hook(weak_owner_, "_raw_malloc")(bytes);
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
  with_python([&] { hook(weak_owner_, "_raw_free")(address); });
}

MemoryInfo PythonUpstream::memory_info() {
  return with_python([&]() -> MemoryInfo {
    const auto [free, total] = nb::cast<std::pair<size_t, size_t>>(hook(weak_owner_, "_mem_get_info")());
    return {free, total};
  });
}

void PythonUpstream::synchronize() {
  with_python([&] { hook(weak_owner_, "_sync_device")(); });
}

EventHandle PythonUpstream::record_event(StreamHandle stream) {
  return with_python([&] {
    nb::object event = hook(weak_owner_, "_record_event")(stream);
    return EventHandle(event.release().ptr());
  });
}

bool PythonUpstream::event_is_complete(EventHandle event) {
  return with_python([&] {
    nb::object answer = hook(weak_owner_, "_event_complete")(nb::handle(reinterpret_cast<PyObject*>(event)));
    const int truth = PyObject_IsTrue(answer.ptr());
    if (truth < 0) nb::raise_python_error();
    return truth != 0;
  });
}

void PythonUpstream::release_event(EventHandle event) noexcept {
  if (interpreter_is_exiting()) return;
  PythonLock gil;
  nb::error_scope pending;
  nb::object object = nb::steal(reinterpret_cast<PyObject*>(event));
  nb::object owner = nb::steal(PyObject_CallNoArgs(weak_owner_));
  if (!owner.is_valid() || owner.is_none()) {
    PyErr_Clear();  // the owner is gone: the event object's own destructor cleans up
    return;
  }
  nb::object done = nb::steal(PyObject_CallMethod(owner.ptr(), "_release_event", "O", object.ptr()));
  if (!done.is_valid()) PyErr_WriteUnraisable(owner.ptr());
}

bool PythonUpstream::has_virtual_memory() {
  return with_python([&] { return nb::cast<bool>(hook(weak_owner_, "_has_virtual_memory")()); });
}

Address PythonUpstream::reserve(size_t bytes) {
  return with_python([&] { return nb::cast<Address>(hook(weak_owner_, "_reserve_addresses")(bytes)); });
}

void PythonUpstream::unreserve(Address address) {
  if (interpreter_is_exiting()) return;
  with_python([&] { hook(weak_owner_, "_release_addresses")(address); });
}

Mapping PythonUpstream::map(Address address, size_t bytes) {
  try {
    return with_python([&]() -> Mapping {
      return {nb::cast<MappingHandle>(hook(weak_owner_, "_map_memory")(address, bytes)), {}};
    });
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::runtime) throw;
    return {0, error.what()};
  }
}

void PythonUpstream::unmap(Address address, MappingHandle handle) {
  if (interpreter_is_exiting()) return;  // the system takes the memory back
  with_python([&] { hook(weak_owner_, "_unmap_memory")(address, handle); });
}

void PythonUpstream::wait_for_turn(std::recursive_mutex& turn) {
  if (turn.try_lock()) return;
  if (interpreter_is_exiting() || !PyGILState_Check()) {
    turn.lock();
    return;
  }
  WithoutPythonLock without_gil;
  turn.lock();
}

}  // namespace mt::bindings
