// The fused attention operators' own functions, which all their versions call (codegen/attention_versions.py writes these).
#pragma once

#include "ops/common/plan.h"

namespace softnpu::ops {

// The arguments of all versions; those that a version lacks keep their values.
struct ScoreArguments {
  const aclTensor *query, *key, *value, *bias, *drop, *padding, *mask;
  // The gradient's own: of the result, and what the forward pass left.
  const aclTensor *grad = nullptr, *max = nullptr, *sum = nullptr, *softmax = nullptr, *out = nullptr;
  const aclTensor* sink = nullptr;
  const aclIntArray* query_lengths = nullptr;
  const aclIntArray* key_lengths = nullptr;
  const aclIntArray* query_start = nullptr;
  const aclIntArray* key_start = nullptr;
  double scale, keep;
  int64_t before, after, heads;
  const char* layout;
  int64_t sparse_mode;
  int64_t bias_type = 1;
  bool backward = false;
  std::initializer_list<const aclTensor*> refused = {};  // rotary parts and scales of quantisation
};

void attention_score(Plan& plan, const ScoreArguments& arguments, const aclTensor* softmax_max,
                     const aclTensor* softmax_sum, const aclTensor* softmax_out,
                     const aclTensor* attention_out);
void attention_score_backward(Plan& plan, ScoreArguments arguments, const aclTensor* dq, const aclTensor* dk,
                              const aclTensor* dv, const aclTensor* dpse, const aclTensor* dsink);

}  // namespace softnpu::ops
