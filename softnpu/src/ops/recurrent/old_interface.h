// Recurrent layers as the old operator interface has them (DynamicRNN and its kin): one layer in one direction, with a mask
// that says which steps each sequence has. ACLNN has no operator that takes the mask, so these are the library's own.
#pragma once

#include "acl_abi.h"
#include "runtime/export.h"

namespace softnpu::ops {

// Gates are in PyTorch's order. Weights are [gates, inputs] and [gates, W], states [B, W]; everything else is [T, B, …].
struct OldLayer {
  const char* name;
  const aclTensor *input, *weight_ih, *weight_hh;
  const aclTensor *bias_ih, *bias_hh;  // may be NULL
  const aclTensor* mask;               // [T, B, W] or NULL; what is not 0 is a step of the sequence
  const aclTensor *hidden, *cell;      // NULL: zeros
  bool reverse;
};

// For the gradient `output`, `hidden_out` and `cell_out` have been computed before.
struct OldLstm {
  OldLayer layer;
  const aclTensor *output, *hidden, *cell, *in, *fresh, *forget, *out, *bent_cell;
};
struct OldLstmGradient {
  const aclTensor *output, *last_hidden, *last_cell;
  const aclTensor *to_weight_ih, *to_weight_hh, *to_bias, *to_input, *to_hidden, *to_cell;
};
SOFTNPU_SHARED aclnnStatus plan_old_lstm(const OldLstm& lstm, uint64_t* workspace, aclOpExecutor** executor);
SOFTNPU_SHARED aclnnStatus plan_old_lstm_gradient(const OldLstm& lstm, const OldLstmGradient& gradient,
                                                  uint64_t* workspace, aclOpExecutor** executor);

struct OldGru {
  OldLayer layer;
  const aclTensor *output, *hidden, *update, *reset, *fresh, *hidden_part;
};
struct OldGruGradient {
  const aclTensor *output, *last_hidden;
  const aclTensor *to_weight_ih, *to_weight_hh, *to_bias_ih, *to_bias_hh, *to_input, *to_hidden;
};
SOFTNPU_SHARED aclnnStatus plan_old_gru(const OldGru& gru, uint64_t* workspace, aclOpExecutor** executor);
SOFTNPU_SHARED aclnnStatus plan_old_gru_gradient(const OldGru& gru, const OldGruGradient& gradient,
                                                 uint64_t* workspace, aclOpExecutor** executor);

// The second phase of any of them.
SOFTNPU_SHARED aclnnStatus launch_old_layer(const char* name, void* workspace, uint64_t workspace_size,
                                            aclOpExecutor* executor, aclrtStream stream);

}  // namespace softnpu::ops
