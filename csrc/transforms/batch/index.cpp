#include "generated/batch/index.h"

#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/index.h"
#include "generated/ops/view.h"

namespace mt::batch {
namespace {

// Index tensors of a slice: undefined entries leave a dimension as it is.
class Indices {
 public:
  explicit Indices(const Call& call) : call_(call), given_(std::get<std::vector<Tensor>>(call.arguments[1])) {
    size_t last = 0;
    for (size_t i = 0; i < given_.size(); ++i) {
      if (!given_[i].defined()) continue;
      if (!count_++) first_ = i;
      last = i;
      rank = std::max(rank, given_[i].dim());
      batched |= is_batched(given_[i], call.level);
    }
    adjacent_ = count_ == 0 || last - first_ + 1 == count_;
  }

  int64_t rank = 0;      // of what they broadcast to
  bool batched = false;  // any of them

  // How many dimensions of the indexed tensor come before those of the index.
  int64_t before() const { return adjacent_ ? int64_t(first_) : 0; }
  bool adjacent() const { return adjacent_; }
  int64_t result_rank() const { return call_.rank(0) - int64_t(count_) + rank; }

  // As they lie below; those of batches begin with the batch.
  std::vector<Tensor> values() const {
    std::vector<Tensor> made;
    for (const Tensor& t : given_) {
      const Tensor& value = value_of(t, call_.level);
      made.push_back(t.defined() && is_batched(t, call_.level) ? with_rank(value, rank) : value);
    }
    return made;
  }
  // The same, for a tensor whose first dimension is the batch: its index is the slice's number.
  std::vector<Tensor> with_slices() const {
    const Tensor numbers = ops::arange(Scalar(call_.size), {DType::int64, call_.given(0).device()});
    std::vector<Tensor> made{with_rank(numbers, rank)};
    for (Tensor& t : values()) made.push_back(std::move(t));
    return made;
  }

 private:
  const Call& call_;
  const std::vector<Tensor>& given_;
  size_t first_ = 0, count_ = 0;
  bool adjacent_ = true;
};

// Moves `count` dimensions that begin at `from` to `to`.
Tensor moved(const Tensor& t, int64_t from, int64_t count, int64_t to) {
  if (from == to || count == 0) return t;
  Dims order;
  for (int64_t d = 0; d < t.dim(); ++d)
    if (d < from || d >= from + count) order.push_back(d);
  for (int64_t i = 0; i < count; ++i) order.insert(size_t(to + i), from + i);
  return ops::permute(t, order);
}

Values finished(const Call& call, const Tensor& result) {
  if (call.rule.written >= 0) ops::copy_(call.value(0), result, false);
  return {result};
}

// A vector of indices along a dimension, for each slice, as gather and scatter take it.
Tensor spread(const Call& call, const Tensor& batch, int64_t dim, IntList like) {
  const int64_t count = call.given(2).numel();
  Dims sizes{call.size}, shape(like);
  for (int64_t d = 1; d < int64_t(like.size()); ++d) sizes.push_back(d == dim ? count : 1);
  shape[size_t(dim)] = count;
  return ops::expand(batch.reshape(sizes), shape);
}

// With the index that all slices share, only dimensions are counted further.
Values along(Call& call, bool has_source = true) {
  Values values(call.arguments);
  const int64_t rank = std::max<int64_t>(call.rank(0), 1);
  for (size_t i = 0; i < values.size(); ++i)
    if (i == 3 && std::holds_alternative<Tensor>(values[i]) && has_source)
      values[i] = with_rank(call.batch(i), rank);
  values[0] = with_rank(call.batch(0), rank);
  values[1] = below(std::get<int64_t>(values[1]), rank);
  values[2] = call.value(2);
  if (!has_source && std::holds_alternative<Tensor>(values[3])) values[3] = call.value(3);
  Tensor result = std::get<Tensor>(call.run(std::move(values)).at(0));
  if (call.rank(0) == 0 && result.dim() == 2) result = ops::squeeze(result, 1);
  return {result};
}

}  // namespace

Values index(Call& call) {
  const Indices indices(call);
  if (call.batched(0) && indices.batched) {
    const Tensor found = ops::_index(call.value(0), indices.with_slices());
    return {moved(found, 1, indices.rank, 1 + indices.before())};
  }
  if (indices.batched) {
    const Tensor found = ops::_index(call.value(0), indices.values());
    return {moved(found, indices.before(), 1, 0)};
  }
  std::vector<Tensor> values = indices.values();
  values.insert(values.begin(), Tensor());
  const Tensor found = ops::_index(call.value(0), values);
  return {indices.adjacent() ? found : moved(found, indices.rank, 1, 0)};
}

Values index_put(Call& call) {
  const auto& given = std::get<std::vector<Tensor>>(call.arguments[1]);
  if (!call.batched(0)) {
    for (const Tensor& t : given)
      if (t.defined() && is_batched(t, call.level)) refuse_write(call.op, "self", "index");
    refuse_write(call.op, "self", "values");
  }
  const Indices indices(call);
  Tensor values = call.batched(2) ? call.value(2) : ops::unsqueeze(call.value(2), 0);
  values = with_rank(values, indices.result_rank());
  values = moved(values, 1 + indices.before(), indices.rank, 1);
  ops::_index_put_(call.value(0), indices.with_slices(), values, std::get<bool>(call.arguments[3]));
  return {};
}

Values index_select(Call& call) {
  if (!call.batched(2) || call.rank(0) == 0) return call.batched(2) ? by_slices(call) : along(call);
  const int64_t dim = below(std::get<int64_t>(call.arguments[1]), call.rank(0));
  const Tensor self = call.batch(0);
  return {ops::gather(self, dim, spread(call, call.value(2), dim, self.sizes()))};
}

Values index_add(Call& call) {
  if (!call.batched(2)) return along(call);
  if (call.rank(0) == 0 || call.rank(3) == 0 || call.rule.written >= 0) return by_slices(call);
  const int64_t dim = below(std::get<int64_t>(call.arguments[1]), call.rank(0));
  const Scalar alpha = Unboxed<const Scalar&>::from(call.arguments[4]);
  const Tensor source = call.batch(3);
  return {ops::scatter_add(call.batch(0), dim, spread(call, call.value(2), dim, source.sizes()),
                           alpha.equals(1) ? source : ops::mul(source, alpha))};
}

Values index_copy(Call& call) {
  if (!call.batched(2)) return along(call);
  if (call.rank(0) == 0 || call.rank(3) == 0 || call.rule.written >= 0) return by_slices(call);
  const int64_t dim = below(std::get<int64_t>(call.arguments[1]), call.rank(0));
  const Tensor source = call.batch(3);
  return {ops::scatter(call.batch(0), dim, spread(call, call.value(2), dim, source.sizes()), source)};
}

Values index_fill(Call& call) {
  const bool value_of_each = std::holds_alternative<Tensor>(call.arguments[3]) && call.batched(3);
  if (!call.batched(2) && !value_of_each) return along(call, false);
  if (call.rank(0) == 0) return by_slices(call);
  const int64_t dim = below(std::get<int64_t>(call.arguments[1]), call.rank(0));
  const Tensor self = call.batch(0);
  const Tensor at = spread(call, call.batch(2), dim, self.sizes());
  if (!std::holds_alternative<Tensor>(call.arguments[3]))
    return finished(call, ops::scatter(self, dim, at, Unboxed<const Scalar&>::from(call.arguments[3])));
  const Tensor value = ops::_to_copy(call.batch(3), self.dtype());
  return finished(call, ops::scatter(self, dim, at, ops::expand(with_rank(value, call.rank(0)), at.sizes())));
}

Values index_reduce(Call& call) { return call.batched(2) ? by_slices(call) : along(call); }

Values take(Call& call) {
  if (!call.batched(0)) return call.run({call.value(0), call.value(1)});
  const int64_t size = call.given(0).numel();
  const Tensor at = call.batch(1).reshape(Dims{call.size, call.given(1).numel()});
  const Tensor inside = ops::where(ops::lt(at, Scalar(0)), ops::add(at, Scalar(size)), at);
  const Tensor found = ops::gather(call.value(0).reshape(Dims{call.size, size}), 1, inside);
  return {found.reshape(with_batch(call.size, call.given(1).sizes()))};
}

Values refuse_count(Call&) {
  fail(ErrorKind::runtime,
       "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
       "aten::nonzero. Please file an issue at https://github.com/pytorch/pytorch/issues if you need this "
       "feature.");
}

}  // namespace mt::batch
