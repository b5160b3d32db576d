// HcclCommConfig, of any version.
#pragma once

#include "hccl/communicator.h"

namespace softnpu::hccl {

// What of it has a meaning here; a Failure when a value is out of range. Buffer size, algorithm, traffic class and
// the like only choose how a card moves the data.
CommunicatorOptions read_configuration(const HcclCommConfig& config);
CommunicatorOptions default_configuration();

}  // namespace softnpu::hccl
