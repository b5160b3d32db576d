#include "core/observe.h"

#include "core/observe_task.h"

namespace mt {

std::atomic<Observer*> g_observer{nullptr};

void OpScope::start(const OpInfo& op, std::initializer_list<ObservedArgument> arguments) {
  observer_->begin(op, {arguments.begin(), arguments.size()});
}

void OpScope::stop() { observer_->end(); }

void TaskScope::start(const TaskInfo& task) {
  if (!observer_->begin_task(task)) observer_ = nullptr;
}

}  // namespace mt
