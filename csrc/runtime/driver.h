// What a vendor has: the calls of its runtime library, one function each. A backend implements this once;
// devices/stream_accelerator.h makes an Accelerator of it.
#pragma once

#include <string>

#include "base/device_handles.h"
#include "runtime/upstream.h"
#include "runtime/watchers.h"

namespace mt::runtime {

enum class CopyKind { host_to_device, device_to_host, device_to_device };

using GraphHandle = uintptr_t;  // 0 is no graph
// Who is refused calls that a capture does not allow: every thread, the one that captures, or nobody (calls that concern
// the captured stream itself are refused always).
enum class CaptureMode { global, this_thread, relaxed };
enum class CaptureStatus { none, active, invalidated };
struct CaptureState {
  CaptureStatus status = CaptureStatus::none;
  uintptr_t id = 0;  // the same for all streams of a capture
};

// The vendor's functions by name, as traces and errors call them.
struct DriverCalls {
  const char *copy, *copy_async, *synchronize_device, *synchronize_stream, *record_event, *synchronize_event,
      *stream_wait_event, *replay_graph;
};

// Functions throw DeviceError (with the vendor's function, its code and its message) when the device refuses. But for
// the first three, they act on the device that is active on the calling thread. A stream is never 0 here.
class DeviceDriver {
 public:
  virtual ~DeviceDriver() = default;
  virtual const DriverCalls& calls() const = 0;

  // Starts the vendor's libraries and counts the devices; throws when there is none. Called until it succeeds.
  virtual int initialize() = 0;
  // At the first use of a device: makes it ready and active, and returns its default stream.
  virtual StreamHandle open(int device) = 0;
  virtual void activate(int device) = 0;

  virtual void synchronize_device() = 0;
  virtual MemoryInfo memory_info() = 0;

  virtual StreamHandle create_stream(int priority) = 0;
  virtual void synchronize_stream(StreamHandle stream) = 0;
  virtual bool stream_is_idle(StreamHandle stream) = 0;

  virtual EventHandle create_event(EventOptions options) = 0;
  virtual void destroy_event(EventHandle event) = 0;
  virtual void record_event(EventHandle event, StreamHandle stream) = 0;
  virtual bool event_is_complete(EventHandle event) = 0;
  virtual void synchronize_event(EventHandle event) = 0;
  virtual void make_stream_wait(StreamHandle stream, EventHandle event) = 0;
  virtual float elapsed_ms(EventHandle begin, EventHandle end) = 0;
  virtual int64_t event_time_us(EventHandle event) = 0;
  // An event that another process can wait for, as bytes that open it there.
  virtual std::string export_event(EventHandle event);
  virtual EventHandle import_event(const std::string& bytes);

  // Raw memory, below the caching pools. What was refused for want of room is told, not thrown.
  virtual RawMemory allocate(size_t bytes) = 0;
  virtual void free(Address address) = 0;
  virtual RawMemory allocate_pinned(size_t bytes) = 0;
  virtual void free_pinned(Address address) = 0;
  // Memory behind reserved addresses, for segments that grow in place.
  virtual bool has_virtual_memory() { return false; }
  virtual Address reserve(size_t bytes);
  virtual void unreserve(Address address);
  virtual Mapping map(int device, Address address, size_t bytes);
  virtual void unmap(Address address, MappingHandle memory);
  // A memory checker that wants to know who has which piece of what was allocated.
  virtual MemoryMarks memory_marks() { return {}; }

  // The asynchronous copy needs pinned host memory to be asynchronous in fact.
  virtual void copy(Address to, Address from, size_t bytes, CopyKind kind) = 0;
  virtual void copy_async(Address to, Address from, size_t bytes, CopyKind kind, StreamHandle stream) = 0;
  virtual bool can_access_peer(int device, int peer) = 0;
  virtual void enable_peer_access(int peer) = 0;

  // Graphs. From begin_capture to end_capture, what is enqueued on the stream, and on streams that wait for its events,
  // is recorded instead of run. end_capture ends the capture whatever happens; it throws if there is no graph.
  virtual bool has_graphs() { return false; }
  virtual void begin_capture(StreamHandle stream, CaptureMode mode);
  virtual GraphHandle end_capture(StreamHandle stream);
  virtual CaptureState capture_state(StreamHandle) { return {}; }
  virtual void replay_graph(GraphHandle graph, StreamHandle stream);
  virtual void destroy_graph(GraphHandle graph);  // replays that are enqueued still run
  virtual void describe_graph(GraphHandle graph, const std::string& path);  // writes a file for people
};

}  // namespace mt::runtime
