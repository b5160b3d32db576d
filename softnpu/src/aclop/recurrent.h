// The recurrent layers of the old interface.
#pragma once

#include "aclop/call.h"

namespace softnpu::aclop {

void dynamic_rnn(const Call& call);
void dynamic_rnn_v2(const Call& call);
void dynamic_rnn_gradient(const Call& call);
void dynamic_rnn_v2_gradient(const Call& call);
void dynamic_gru(const Call& call);
void dynamic_gru_gradient(const Call& call);

}  // namespace softnpu::aclop
