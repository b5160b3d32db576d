#include "generated/infer/attention.h"

#include "core/meta_memory.h"

namespace mt::infer {
namespace {

// In memory the heads of a row follow each other, as they do in the projection that they are mostly taken from: there the
// gradient goes back without a copy.
void prepare_by_rows(Output& gradient, const Tensor& of) {
  const IntList sizes = of.sizes();
  const int64_t of_row = sizes[1] * sizes[3];
  gradient.prepare_strided(sizes, Dims{sizes[2] * of_row, sizes[3], of_row, 1}, of.dtype(), of.device());
}

}  // namespace

void attention(const Tensor& query, const Tensor& key, const Tensor& value, double dropout_p, bool,
               const Tensor& attn_mask, std::optional<double>, Output& output, Output& logsumexp) {
  MT_CHECK(query.dim() == 4 && key.dim() == 4 && value.dim() == 4,
           "scaled_dot_product_attention_flash_attention: Accept only 4 dims inputs shape of {B, H, T, K}");
  MT_CHECK(dropout_p == 0.0,
           "scaled_dot_product_attention_flash_attention: Currently do not support dropout > 0");
  check_same_device({&query, &key, &value, &attn_mask});
  MT_CHECK(is_floating(query.dtype()) && query.dtype() == key.dtype() && query.dtype() == value.dtype(),
           "scaled_dot_product_attention_flash_attention: Q/K/V should have the same floating point type");
  const IntList q = query.sizes(), k = key.sizes(), v = value.sizes();
  MT_CHECK(q[0] == k[0] && q[0] == v[0] && k[1] == v[1] && k[2] == v[2] && q[3] == k[3] &&
               (k[1] == 0 ? q[1] == 0 : q[1] % k[1] == 0),
           "scaled_dot_product_attention_flash_attention: Q/K/V of sizes ", to_string(q), ", ", to_string(k),
           " and ", to_string(v), " do not belong together");
  if (attn_mask.defined()) {
    MT_CHECK(
        attn_mask.dtype() == DType::boolean || attn_mask.dtype() == query.dtype(),
        "scaled_dot_product_attention_flash_attention: Attention mask must be bool or of the query's type");
    const int64_t wanted[] = {q[0], q[1], q[2], k[2]};
    MT_CHECK(std::ranges::equal(broadcast(attn_mask.sizes(), wanted), wanted),
             "scaled_dot_product_attention_flash_attention: Attention mask of size ",
             to_string(attn_mask.sizes()), " does not broadcast to ", to_string(wanted));
  }
  output.prepare(Dims{q[0], q[1], q[2], v[3]}, query.dtype(), query.device(), &query);
  const DType exact = query.dtype() == DType::float64 ? DType::float64 : DType::float32;
  logsumexp.prepare(Dims{q[0], q[1], q[2]}, exact, query.device());
}

void attention_backward(const Tensor& grad_out, const Tensor& query, const Tensor& key, const Tensor& value,
                        const Tensor& out, const Tensor& logsumexp, double dropout_p, bool is_causal,
                        const Tensor& attn_mask, std::optional<double> scale, Output& grad_query,
                        Output& grad_key, Output& grad_value) {
  // The forward's rule on tensors that hold nothing: what is given must be what it would have made.
  const auto empty = [](const Tensor& t) {
    return t.defined() ? new_tensor(t.sizes(), t.dtype(), {DeviceType::meta}) : t;
  };
  Output made, rows;
  {
    const UncountedMeta uncounted;
    attention(empty(query), empty(key), empty(value), dropout_p, is_causal, empty(attn_mask), scale, made,
              rows);
  }
  const Tensor like = made.take(), row_like = rows.take();
  check_same_device({&grad_out, &query, &key, &value, &out, &logsumexp, &attn_mask});
  MT_CHECK(
      std::ranges::equal(grad_out.sizes(), like.sizes()) && std::ranges::equal(out.sizes(), like.sizes()) &&
          std::ranges::equal(logsumexp.sizes(), row_like.sizes()) && logsumexp.dtype() == row_like.dtype() &&
          grad_out.dtype() == query.dtype() && out.dtype() == query.dtype(),
      "scaled_dot_product_attention backward: the gradient, output and logsumexp do not belong to the "
      "inputs");
  prepare_by_rows(grad_query, query);
  prepare_by_rows(grad_key, key);
  prepare_by_rows(grad_value, value);
}

}  // namespace mt::infer
