// Attention: the fused kernel where it applies, products and a softmax where it does not.
#include "generated/ops/composites/attention.h"
#include "core/accelerator.h"
#include "core/intercept.h"
#include "core/meta_memory.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/node.h"
#include "generated/ops/attention.h"
#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/index.h"
#include "generated/ops/matmul.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/random.h"
#include "generated/ops/reduce.h"
#include "generated/ops/softmax.h"
#include "generated/ops/view.h"
#include "infer/infer.h"

namespace mt::composites {
namespace {

void check_inputs(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                  double dropout_p, bool is_causal) {
  MT_CHECK(
      query.dtype() == key.dtype() && query.dtype() == value.dtype(),
      "Expected query, key, and value to have the same dtype, but got query.dtype: ", c_name(query.dtype()),
      " key.dtype: ", c_name(key.dtype()), " and value.dtype: ", c_name(value.dtype()), " instead.");
  infer::check_same_device({&query, &key, &value, &mask});
  MT_CHECK(query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2,
           "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: ",
           query.dim(), " key.dim: ", key.dim(), " and value.dim: ", value.dim(), " instead.");
  if (mask.defined()) {
    MT_CHECK(
        mask.dtype() == DType::boolean || mask.dtype() == query.dtype() || mask.dtype() == DType::float32,
        "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: ",
        c_name(mask.dtype()), " and  query.dtype: ", c_name(query.dtype()), " instead.");
    MT_CHECK(!is_causal,
             "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True");
  }
  MT_CHECK(dropout_p >= 0 && dropout_p <= 1, "dropout probability has to be between 0 and 1, but got ",
           dropout_p);
}

// Whether the kernel takes them as they are: [B, H, L, E] with equal batches (and heads, unless they are shared).
bool fits_kernel(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                 double dropout_p, bool shared_heads) {
  if (query.dim() != 4 || key.dim() != 4 || value.dim() != 4 || !is_floating(query.dtype())) return false;
  const IntList q = query.sizes(), k = key.sizes(), v = value.sizes();
  Backend* const backend = find_backend(meant_type(query.device()));
  if (!backend || !backend->fuses_attention(query.device(), query.dtype(), std::max(q[3], v[3])))
    return false;
  if (q[0] != k[0] || q[0] != v[0] || k[1] != v[1] || k[2] != v[2] || q[3] != k[3]) return false;
  if (k[1] == 0 || (shared_heads ? q[1] % k[1] != 0 : q[1] != k[1])) return false;
  if (query.numel() == 0 || key.numel() == 0 || value.numel() == 0 || dropout_p != 0.0) return false;
  if (is_dual(query) || is_dual(key) || is_dual(value)) return false;  // its gradient is not differentiable
  if (!mask.defined()) return true;
  if (autograd::any_needs_grad(mask) || is_dual(mask) || mask.dim() > 4) return false;
  if (mask.dtype() != DType::boolean && mask.dtype() != query.dtype()) return false;
  const int64_t wanted[] = {q[0], q[1], q[2], k[2]};
  for (size_t i = 0; i < size_t(mask.dim()); ++i) {
    const int64_t size = mask.sizes()[i];
    if (size != 1 && size != wanted[4 - size_t(mask.dim()) + i]) return false;
  }
  return true;
}

Tensor repeated_heads(const Tensor& t, int64_t times) {
  if (times == 1) return t;
  Dims sizes(t.sizes()), wide(t.sizes());
  const size_t at = sizes.size() - 3;
  wide.insert(at + 1, times);
  sizes[at] *= times;
  return ops::expand(ops::unsqueeze(t, int64_t(at) + 1), wide, false).reshape(sizes);
}

Tensor keep_lower(const Tensor& scores) {
  const int64_t rows = scores.size(-2), columns = scores.size(-1);
  const TensorOptions options{DType::int64, scores.device()};
  return ops::le(ops::arange(columns, options), ops::unsqueeze(ops::arange(rows, options), 1));
}

// Rows that see nothing become zeros, not NaN.
Tensor softmax_or_zero(const Tensor& scores, bool may_be_hidden) {
  const Tensor probabilities = ops::softmax(scores, -1);
  if (!may_be_hidden) return probabilities;
  const Tensor hidden =
      ops::all(ops::eq(scores, Scalar(-std::numeric_limits<double>::infinity())), DimList(-1), true);
  return ops::masked_fill(probabilities, hidden, 0);
}

Tensor composed(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                double dropout_p, bool is_causal, double scale, bool shared_heads) {
  Tensor keys = key, values = value;
  if (shared_heads) {
    MT_CHECK(query.dim() >= 3 && key.dim() >= 3 && value.dim() >= 3 && key.size(-3) > 0 &&
                 value.size(-3) > 0 && query.size(-3) % key.size(-3) == 0 &&
                 query.size(-3) % value.size(-3) == 0,
             "Number of heads in key and value must divide the number of heads in query");
    keys = repeated_heads(key, query.size(-3) / key.size(-3));
    values = repeated_heads(value, query.size(-3) / value.size(-3));
  }
  // Half of the scale on either side keeps products of half types in range.
  const double part = std::sqrt(std::fabs(scale));
  Tensor scores = ops::matmul(ops::mul(query, Scalar(scale < 0 ? -part : part)),
                              ops::mul(ops::transpose(keys, -2, -1), Scalar(part)));
  const double hidden = -std::numeric_limits<double>::infinity();
  if (is_causal) scores = ops::where(keep_lower(scores), scores, Scalar(hidden));
  if (mask.defined() && mask.dtype() == DType::boolean) scores = ops::where(mask, scores, Scalar(hidden));
  else if (mask.defined()) scores = ops::add(scores, mask);
  Tensor probabilities = softmax_or_zero(scores, is_causal || mask.defined());
  if (dropout_p > 0) {
    const Tensor kept = ops::bernoulli(probabilities, 1 - dropout_p);
    probabilities = ops::mul(probabilities, dropout_p < 1 ? ops::div(kept, Scalar(1 - dropout_p)) : kept);
  }
  return ops::matmul(probabilities, values);
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& attn_mask, double dropout_p, bool is_causal,
                                    std::optional<double> scale, bool enable_gqa) {
  check_inputs(query, key, value, attn_mask, dropout_p, is_causal);
  if (fits_kernel(query, key, value, attn_mask, dropout_p, enable_gqa))
    return std::get<0>(ops::_scaled_dot_product_flash_attention_for_cpu(query, key, value, 0.0, is_causal,
                                                                        attn_mask, scale));
  const double factor = scale.value_or(1.0 / std::sqrt(double(query.size(-1))));
  const DType dtype = query.dtype();
  const bool half = dtype == DType::float16 || dtype == DType::bfloat16;
  if (!half || is_accelerator(meant_type(query.device())))
    return composed(query, key, value, attn_mask, dropout_p, is_causal, factor, enable_gqa);
  // Scores of a half type would lose what softmax tells apart.
  const auto wide = [](const Tensor& t) {
    return t.defined() && is_floating(t.dtype()) ? ops::to(t, DType::float32) : t;
  };
  return ops::to(composed(wide(query), wide(key), wide(value), wide(attn_mask), dropout_p, is_causal, factor,
                          enable_gqa),
                 dtype);
}

}  // namespace mt::composites
