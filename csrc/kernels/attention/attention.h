// softmax(query @ key^T * scale + mask) @ value without the matrix of all scores: a block of queries at a time.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

struct AttentionOptions {
  double scale;
  bool causal;  // query i sees the keys 0 … i
};

// query [B, H, L, E], key [B, G, S, E], value [B, G, S, F], out [B, H, L, F], logsumexp [B, H, L], in float or
// double; H is a multiple of G, whose heads serve H / G heads each. mask: null, or [B, H, L, S], bool (false hides)
// or of the query's type (added).
void attention(const View& query, const View& key, const View& value, const View* mask, const View& out,
               const View& logsumexp, AttentionOptions options);
void attention_backward(const View& grad, const View& query, const View& key, const View& value,
                        const View* mask, const View& out, const View& logsumexp, const View& grad_query,
                        const View& grad_key, const View& grad_value, AttentionOptions options);

}  // namespace mt::kernels
