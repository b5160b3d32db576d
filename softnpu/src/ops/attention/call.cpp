#include "ops/attention/call.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

// The last dimension, heads * width, seen as two.
Operand split_last(const Plan& plan, const Operand& tensor, const char* name, int64_t heads) {
  const int last = tensor.ndim - 1;
  if (heads < 1 || tensor.sizes[last] % heads != 0)
    plan.invalid("tensor '", name, "' has shape ", shape_text(tensor),
                 ", whose last dimension is no multiple of ", heads, " heads");
  Operand result = unsqueezed(tensor, last);
  result.sizes[last] = heads;
  result.strides[last] = tensor.strides[last] * (tensor.sizes[last] / heads);
  result.sizes[last + 1] = tensor.sizes[last] / heads;
  return result;
}

void require_ends(const Plan& plan, const std::vector<int64_t>& ends, const char* name, int64_t total) {
  int64_t last = 0;
  for (const int64_t end : ends) {
    if (end < last || end > total)
      plan.invalid("the cumulative lengths of '", name, "' must rise up to ", total, ", got ", end, " after ",
                   last);
    last = end;
  }
  if (ends.empty()) plan.invalid("'", name, "' is packed but comes without the lengths of its sequences");
}

}  // namespace

HeadSequences::HeadSequences(const Plan& plan, const Operand& tensor, const char* name,
                             std::string_view layout, int64_t heads, const std::vector<int64_t>& ends)
    : packed_(layout == "TND" || layout == "NTD"), ends_(packed_ ? ends : std::vector<int64_t>()) {
  const bool hidden = layout == "BSH" || layout == "SBH";
  plan.require_ndim(tensor, name, packed_ || hidden ? 3 : 4);
  if (layout == "BSH") whole_ = permuted(split_last(plan, tensor, name, heads), {0, 2, 1, 3});
  else if (layout == "SBH") whole_ = permuted(split_last(plan, tensor, name, heads), {1, 2, 0, 3});
  else if (layout == "BSND") whole_ = permuted(tensor, {0, 2, 1, 3});
  else if (layout == "BNSD") whole_ = tensor;
  else if (layout == "NBSD") whole_ = permuted(tensor, {1, 0, 2, 3});
  else if (layout == "NTD") whole_ = tensor;
  else if (packed_) whole_ = permuted(tensor, {1, 0, 2});
  else plan.invalid("the layout is '", layout, "', wanted BSH, SBH, BSND, BNSD, NBSD, TND or NTD");
  if (packed_) require_ends(plan, ends_, name, whole_.sizes[1]);
  if (this->heads() != heads)
    plan.invalid("tensor '", name, "' has shape ", shape_text(tensor), " in layout ", layout, ", wanted ",
                 heads, " heads");
}

HeadSequences HeadSequences::statistics(const Plan& plan, const Operand& tensor, const char* name,
                                        bool packed, const std::vector<int64_t>& ends) {
  HeadSequences result;
  result.packed_ = packed;
  plan.require_ndim(tensor, name, packed ? 3 : 4);
  plan.require_dtype(tensor, name, domains::single_double);
  result.whole_ = packed ? permuted(tensor, {1, 0, 2}) : tensor;
  if (packed) require_ends(plan, result.ends_ = ends, name, tensor.sizes[0]);
  return result;
}

Operand part_for(const Operand& whole, int64_t sequence, int64_t length, int64_t keys) {
  Operand part = whole;
  if (part.ndim == 2) part = unsqueezed(part, 0);
  else {
    part = selected(part, 0, std::min(sequence, part.sizes[0] - 1));
    if (part.ndim == 2) part = unsqueezed(part, 0);
  }
  if (part.sizes[1] > length) part.sizes[1] = length;
  if (part.sizes[2] > keys) part.sizes[2] = keys;
  return part;
}

void require_part(const Plan& plan, const Operand& whole, const char* name, const HeadSequences& query,
                  const HeadSequences& key) {
  const int n = whole.ndim;
  bool fits = n >= 2 && n <= 4;
  int64_t longest_query = 0, longest_key = 0;
  for (int64_t b = 0; b < query.count(); ++b) {
    longest_query = std::max(longest_query, query.length(b));
    longest_key = std::max(longest_key, key.length(b));
  }
  if (fits && n >= 3) fits = whole.sizes[0] == 1 || whole.sizes[0] == query.count();
  if (fits && n == 4) fits = whole.sizes[1] == 1 || whole.sizes[1] == query.heads();
  fits = fits && (whole.sizes[n - 2] == 1 || whole.sizes[n - 2] >= longest_query) &&
         (whole.sizes[n - 1] == 1 || whole.sizes[n - 1] >= longest_key);
  if (!fits)
    plan.invalid("tensor '", name, "' has shape ", shape_text(whole), ", wanted [", query.count(), " or 1, ",
                 query.heads(), " or 1, ", longest_query, ", ", longest_key, "] or its last two dimensions");
}

Sparsity Sparsity::checked(const Plan& plan, int64_t mode, int64_t before, int64_t after, bool masked) {
  if (mode < 0 || mode > 5) plan.invalid("sparseMode is ", mode, ", the software NPU supports 0 to 5");
  if ((mode == 1 || mode == 5) && !masked) plan.invalid("sparseMode ", mode, " needs attenMask");
  // Farther than any sequence is long, and far from overflow.
  constexpr int64_t far = int64_t(1) << 40;
  return {mode, std::clamp(before, -far, far), std::clamp(after, -far, far), masked};
}

void Sparsity::apply(k::FusedAttention& problem, int64_t length, int64_t keys) const {
  const int64_t shift = keys - length;  // modes 3 and 4 align the last query with the last key
  if (mode == 0 && masked) problem.before = before, problem.after = after;
  if (mode == 2) problem.after = 0;
  if (mode == 3) problem.after = shift;
  if (mode == 4) problem.before = before - shift, problem.after = after + shift;
}

}  // namespace softnpu::ops
