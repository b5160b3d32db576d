// The one observation point of dispatch: every operator passes an OpScope, which costs one predictable
// branch while nobody watches.
#pragma once

#include <atomic>
#include <initializer_list>

#include "core/tensor.h"

namespace mt {

struct OpInfo {
  const char* name;      // "aten::add"
  const char* overload;  // "Tensor"
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void begin(const OpInfo& op, std::initializer_list<const Tensor*> inputs) = 0;
  virtual void end(const OpInfo& op) = 0;
};

// Null while nobody watches. Set and cleared by the profiler; operators in flight keep the pointer they saw.
extern std::atomic<Observer*> g_observer;

class OpScope {
 public:
  OpScope(const OpInfo& op, std::initializer_list<const Tensor*> inputs) {
    Observer* observer = g_observer.load(std::memory_order_relaxed);
    if (observer) [[unlikely]]
      start(observer, op, inputs);
  }
  ~OpScope() {
    if (observer_) [[unlikely]]
      observer_->end(*op_);
  }
  OpScope(const OpScope&) = delete;

 private:
  void start(Observer* observer, const OpInfo& op, std::initializer_list<const Tensor*> inputs);
  Observer* observer_ = nullptr;
  const OpInfo* op_;
};

}  // namespace mt
