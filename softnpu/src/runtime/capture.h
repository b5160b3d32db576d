// Recording a graph: while a stream captures, its tasks go into the graph instead of its queue. A stream that
// waits for an event of the capture joins it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "runtime/graph.h"

namespace softnpu {

class Stream;
struct Event;

// How far each recorded stream had come, by stream id: what a point in one of them comes after.
using Clock = std::map<int32_t, uint64_t>;

class Capture {
 public:
  Capture(Stream& origin, std::shared_ptr<Graph> graph, aclmdlRICaptureMode mode);

  struct Member {
    Stream* stream;
    Clock seen;
    bool in_group = false;
    std::vector<size_t> group;
  };

  Member& member(const Stream& stream);
  void join(Stream& stream);
  // Adds a node for a task of the stream. Waits and tasks count as work that others must join.
  void add(const Stream& stream, GraphNode node);
  // Streams other than the first one whose last work nobody has waited for.
  bool all_joined() const;

  Stream* const origin;
  const std::shared_ptr<Graph> graph;
  const aclmdlRICaptureMode mode;
  const std::thread::id thread;
  bool invalidated = false;
  std::map<int32_t, Member> members;
};

// The tasks that are to replace those of a group.
struct TaskUpdate {
  std::shared_ptr<Graph> graph;
  std::vector<size_t> nodes;
  std::vector<const char*> names;
  std::vector<std::shared_ptr<RepeatableTask>> tasks;
};

// What this thread lets itself do while others capture; see aclmdlRICaptureThreadExchangeMode.
extern thread_local aclmdlRICaptureMode thread_capture_mode;

// Guards all captures, and the captures of all streams. Recording is rare and may be slow.
std::mutex& capture_mutex();

// With capture_mutex: makes the stream record, or stop to.
void set_capture(Stream& stream, std::shared_ptr<Capture> capture);
// With capture_mutex: every member leaves; the graph stays.
void finish_capture(Capture& capture);
// A stream ends while it captures: so does the capture.
void leave_capture(Stream& stream);

// 0, or the recorded code when the stream is being captured, so that nothing can wait for it.
int refuse_captured(const char* function, const Stream& stream);
// 0, or the code when some capture forbids this thread to make calls that wait for the device. `code` is
// ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT or its form for asynchronous calls.
int check_capture_mode(const char* function, int code);

// Events of a capturing stream. Each returns whether it has dealt with the call (then *code is the result).
bool capture_record(const char* function, Event& event, Stream& stream, int* code);
bool capture_wait(const char* function, Event& event, Stream& stream, int* code);
bool capture_reset(const char* function, Event& event, Stream& stream, int* code);

}  // namespace softnpu
