#include "generated/cpu/attention.h"

#include <cmath>

#include "backends/cpu/kernel_view.h"
#include "core/views.h"
#include "kernels/attention/attention.h"

namespace mt::cpu {
namespace {

kernels::AttentionOptions options(const Tensor& query, bool is_causal, std::optional<double> scale) {
  return {scale.value_or(1.0 / std::sqrt(double(query.sizes()[3]))), is_causal};
}

Tensor full_mask(const Tensor& mask, const Tensor& query, const Tensor& key) {
  if (!mask.defined()) return mask;
  const IntList q = query.sizes();
  return views::expand(mask, Dims{q[0], q[1], q[2], key.sizes()[2]}, false);
}

}  // namespace

void attention(const Tensor& query, const Tensor& key, const Tensor& value, double, bool is_causal,
               const Tensor& attn_mask, std::optional<double> scale, const Tensor& output,
               const Tensor& logsumexp) {
  const Tensor mask = full_mask(attn_mask, query, key);
  const kernels::View seen = mask.defined() ? view(mask) : kernels::View{};
  kernels::attention(view(query), view(key), view(value), mask.defined() ? &seen : nullptr, view(output),
                     view(logsumexp), options(query, is_causal, scale));
}

void attention_backward(const Tensor& grad_out, const Tensor& query, const Tensor& key, const Tensor& value,
                        const Tensor& out, const Tensor& logsumexp, double, bool is_causal,
                        const Tensor& attn_mask, std::optional<double> scale, const Tensor& grad_query,
                        const Tensor& grad_key, const Tensor& grad_value) {
  const Tensor mask = full_mask(attn_mask, query, key);
  const kernels::View seen = mask.defined() ? view(mask) : kernels::View{};
  kernels::attention_backward(view(grad_out), view(query), view(key), view(value),
                              mask.defined() ? &seen : nullptr, view(out), view(logsumexp), view(grad_query),
                              view(grad_key), view(grad_value), options(query, is_causal, scale));
}

}  // namespace mt::cpu
