// The one observation point of dispatch: every operator passes an OpScope, which costs one predictable branch while
// nobody watches. The backward pass, host memory and work handed to a device (observe_task.h) tell the same observer.
#pragma once

#include <atomic>
#include <concepts>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/dispatch.h"
#include "core/tensor.h"

namespace mt {

struct OpInfo {
  const char* name;      // "aten::add"
  const char* overload;  // "Tensor"
};

// An argument of an operator; what it points to lives as long as the call.
struct ObservedArgument {
  enum class Kind : uint8_t { other, tensor, tensors, boolean, integer, real, integers, text };

  Kind kind = Kind::other;
  union {
    const void* pointer = nullptr;
    int64_t integer;
    double real;
  };
  size_t size = 0;  // of tensors, integers and text

  ObservedArgument() = default;
  ObservedArgument(const Tensor& tensor) : kind(Kind::tensor), pointer(&tensor) {}
  ObservedArgument(TensorList list) : kind(Kind::tensors), pointer(list.data()), size(list.size()) {}
  ObservedArgument(bool value) : kind(Kind::boolean), integer(value) {}
  ObservedArgument(int64_t value) : kind(Kind::integer), integer(value) {}
  ObservedArgument(double value) : kind(Kind::real), real(value) {}
  ObservedArgument(const Scalar& value) {
    if (value.category() == Category::boolean) *this = value.to<bool>();
    else if (value.is_integral()) *this = value.to<int64_t>();
    else if (value.is_floating()) *this = value.to<double>();
  }
  ObservedArgument(IntList list) : kind(Kind::integers), pointer(list.data()), size(list.size()) {}
  ObservedArgument(const Dims& list) : ObservedArgument(IntList(list)) {}
  ObservedArgument(const DimList& list) {
    if (list.present()) *this = list.dims();
  }
  ObservedArgument(std::string_view text) : kind(Kind::text), pointer(text.data()), size(text.size()) {}
  template <class T>
  ObservedArgument(const std::optional<T>& value) {
    if (value) *this = ObservedArgument(*value);
  }
  // Dtypes, devices, generators and other things that are not shown.
  template <class T>
    requires(!std::convertible_to<T, IntList> && !std::convertible_to<T, TensorList> &&
             !std::convertible_to<T, std::string_view>)
  ObservedArgument(const T&) {}
};
using ObservedArguments = std::span<const ObservedArgument>;

struct TaskInfo;  // core/observe_task.h

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void begin(const OpInfo& op, ObservedArguments arguments) = 0;
  virtual void end() = 0;
  // A node of the autograd graph was made, by the innermost operator.
  virtual void node_made(uint64_t sequence) = 0;
  // The backward pass visits a node, and inside that, runs it. Both end with end().
  virtual void begin_visit(std::string_view node, std::optional<uint64_t> sequence) = 0;
  virtual void begin_run(std::string_view node, std::optional<uint64_t> sequence, TensorList gradients) = 0;
  // Bytes of host memory handed out (positive) or given back (negative).
  virtual void host_memory_changed(const void* address, int64_t bytes) = 0;
  // False: not recorded, and end_task() is not wanted.
  virtual bool begin_task(const TaskInfo& task) = 0;
  virtual void end_task() = 0;
};

// Null while nobody watches; what is in flight keeps the pointer it saw.
extern std::atomic<Observer*> g_observer;
void set_observer(Observer* observer);  // the profiler's, or null
// A thread is in a mode that operators ask (Note [Interception] in intercept.h), or no longer: meanwhile they find an
// observer, that of the profiler or one that does nothing.
void set_look_up(bool on);

inline Observer* observer() { return g_observer.load(std::memory_order_relaxed); }

class OpScope {
 public:
  // Arguments are looked at only while somebody watches.
  template <class... A>
  explicit OpScope(const OpInfo& op, const A&... arguments) : observer_(observer()) {
    if (observer_) [[unlikely]]
      start(op, {ObservedArgument(arguments)...});
  }
  explicit OpScope(const OpInfo& op, ObservedArguments arguments) : observer_(observer()) {
    if (observer_) [[unlikely]]
      observer_->begin(op, arguments);
  }
  ~OpScope() {
    if (observer_) [[unlikely]]
      stop();
  }
  OpScope(const OpScope&) = delete;
  // Whether an observer is there, or `flags` has a bit: one test.
  bool watched_or(uint8_t flags) const { return (reinterpret_cast<uintptr_t>(observer_) | flags) != 0; }

 private:
  void start(const OpInfo& op, std::initializer_list<ObservedArgument> arguments);
  void stop();
  Observer* observer_;
};

}  // namespace mt
