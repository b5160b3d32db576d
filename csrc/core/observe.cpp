#include "core/observe.h"

namespace mt {

std::atomic<Observer*> g_observer{nullptr};

void OpScope::start(Observer* observer, const OpInfo& op, std::initializer_list<const Tensor*> inputs) {
  observer->begin(op, inputs);
  observer_ = observer;
  op_ = &op;
}

}  // namespace mt
