// Names for messages.
#pragma once

#include <string>

#include "autograd/node.h"

namespace mt::autograd {

// "Exp" for ExpBackward0: how PyTorch's messages call the operation of a node.
std::string operation_name(const Node& node);

}  // namespace mt::autograd
