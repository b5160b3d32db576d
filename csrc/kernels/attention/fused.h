// Attention with everything that accelerators fuse into it: masks, bands, bias, dropout, a sink. The row maxima and sums
// of the softmax are kept for the gradient.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/common/view.h"

namespace mt::kernels {

// One sequence. H is a multiple of G, whose heads serve H / G heads each.
struct FusedAttention {
  View query;       // [H, L, E]
  View key, value;  // [G, S, E], [G, S, F]
  double scale = 1;
  const View* bias = nullptr;     // broadcasts to [H, L, S]
  bool bias_is_scaled = false;    // (query key + bias) * scale, else query key * scale + bias
  const View* slopes = nullptr;   // [H]: a bias of -slope * distance(i, j), …
  bool root_of_distance = false;  // … or of the root of the distance,
  int64_t ahead = 0;              // where query 0 is this far ahead of key 0
  const View* mask = nullptr;     // broadcasts to [H, L, S]; what is not 0 is hidden
  // Query i sees the keys from i - before to i + after.
  int64_t before = std::numeric_limits<int32_t>::max(), after = std::numeric_limits<int32_t>::max();
  // Dropout: bit i of a row-major [H, L, S] says whether the probability is kept, and is then divided by `keep`.
  const uint8_t* keep_bits = nullptr;
  int64_t first_bit = 0;
  double keep = 1;
  const View* sink = nullptr;  // [H]: a score that takes part in the softmax but has no value
};

// out [H, L, F]. top and sum, [H, L, any number of equal elements], receive each row's largest score and the sum of the
// exponentials of what the others lack to it; a row that sees nothing has sum 0, and its result is 0.
void fused_attention(const FusedAttention& problem, const View& out, const View& top, const View& sum);

struct FusedAttentionGradients {
  View query, key, value;
  const View* bias = nullptr;  // the shape of the problem's bias
  const View* sink = nullptr;
};
void fused_attention_backward(const FusedAttention& problem, const View& grad, const View& out,
                              const View& top, const View& sum, const FusedAttentionGradients& gradients);

}  // namespace mt::kernels
