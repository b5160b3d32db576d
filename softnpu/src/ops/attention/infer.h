// Attention of inference: what the versions of PromptFlashAttention, IncreFlashAttention and FusedInferAttentionScore
// have in common (codegen/attention_versions.py writes these).
#pragma once

#include "ops/common/plan.h"

namespace softnpu::ops {

// Arguments that a version lacks keep their values.
struct InferArguments {
  const aclTensor* query;
  const aclTensor *key = nullptr, *value = nullptr;  // or lists of them
  const aclTensorList *keys = nullptr, *values = nullptr;
  const aclTensor *bias, *mask;
  const aclIntArray *query_lengths = nullptr, *key_lengths = nullptr;
  const aclTensor* block_table = nullptr;
  const aclTensor *query_rope = nullptr, *key_rope = nullptr;  // further columns of query and key
  const aclTensor* sink = nullptr;
  int64_t heads;
  double scale;
  int64_t before = 2147483647, after = 2147483647;
  const char* layout;
  int64_t groups;  // heads of key and value; 0: as many as the query has
  int64_t sparse_mode = 0, block_size = 0;
  bool wants_logsumexp = false;
  const aclTensor* out;
  const aclTensor* logsumexp = nullptr;
  bool mask_by_batch = false;  // a mask of two dimensions is [B, S], not [L, S]
  // Scales of quantised tensors, padding sizes and shared prefixes.
  std::initializer_list<const aclTensor*> refused = {};
};

void infer_attention(Plan& plan, const InferArguments& arguments);

}  // namespace softnpu::ops
