// torchaudio's loops along time, as few steps over whole tensors.
#include "generated/ops/substitutes/audio.h"

#include "autograd/formulas/common.h"
#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/cumulative.h"
#include "generated/ops/index.h"
#include "generated/ops/matmul.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/reduce.h"
#include "generated/ops/shape.h"
#include "generated/ops/softmax.h"
#include "generated/ops/unary.h"
#include "generated/ops/view.h"
#include "ops/substitutes/common.h"

namespace mt::substitutes {

using namespace formulas;  // +, -, * and / of tensors

namespace {

constexpr double kNever = -1e30;  // a log probability that differences and sums do not turn into NaN

Tensor as(const Tensor& t, DType dtype) { return t.dtype() == dtype ? t : ops::_to_copy(t, dtype); }
Tensor filled(IntList sizes, double value, const Tensor& like) {
  return ops::full(sizes, Scalar(value), TensorOptions{like.dtype(), like.device()});
}
Tensor part(const Tensor& t, int64_t dim, int64_t start, int64_t length) {
  return ops::narrow(t, dim, start, length);
}
Tensor row(const Tensor& t, int64_t i) { return ops::select(t, 1, i); }

}  // namespace

// Lattice nodes [B, T, U + 1]. Along labels, a row of the recursion is a running sum in log space: with Q the sums of the
// labels' log probabilities so far, forward = Q + logcumsumexp(arrivals - Q), and backward the same from the other end.
std::tuple<Tensor, Tensor> rnnt_loss_forward(const Tensor& logits, const Tensor& targets,
                                             const Tensor& logit_lengths, const Tensor& target_lengths,
                                             int64_t blank, double clamp, bool fused) {
  const IntList x = logits.sizes();
  const int64_t batch = x[0], times = x[1], nodes = x[2], labels = nodes - 1;
  const Tensor values = fused ? ops::log_softmax(wide(logits), -1) : wide(logits);
  const Tensor blanks = ops::select(values, 3, blank);
  const Tensor which = ops::expand(as(targets, DType::int64).reshape(Dims{batch, 1, labels, 1}),
                                   Dims{batch, times, labels, 1});
  const Tensor spoken = ops::squeeze(ops::gather(part(values, 2, 0, labels), 3, which), 3);
  const Tensor sums = ops::cat({{filled(Dims{batch, times, 1}, 0, values), ops::cumsum(spoken, 2)}}, 2);
  const auto numbers = [&](int64_t n) {
    return ops::arange(Scalar(n), TensorOptions{DType::int32, logits.device()});
  };
  const Tensor label = numbers(nodes).reshape(Dims{1, nodes}),
               counts = target_lengths.reshape(Dims{batch, 1}), ends = logit_lengths.reshape(Dims{batch, 1});
  const auto only = [&](const Tensor& where) {
    return ops::where(where, filled(Dims{batch, nodes}, 0, values), Scalar(kNever));
  };
  std::vector<Tensor> forward, backward(size_t(times) + 1);
  Tensor arrivals = only(ops::expand(ops::eq(label, Scalar(0)), Dims{batch, nodes}));
  for (int64_t t = 0; t < times; ++t) {
    forward.push_back(row(sums, t) + ops::logcumsumexp(arrivals - row(sums, t), 1));
    arrivals = forward.back() + row(blanks, t);
  }
  const Tensor terminal = only(ops::eq(label, counts));
  backward[size_t(times)] = terminal;
  for (int64_t t = times - 1; t >= 0; --t) {
    const Tensor leaving = backward[size_t(t) + 1] + row(blanks, t) + row(sums, t);
    const Tensor made = ops::flip(ops::logcumsumexp(ops::flip(leaving, Dims{1}), 1), Dims{1}) - row(sums, t);
    backward[size_t(t)] = ops::where(ops::gt(ends, Scalar(t)), made, terminal);
  }
  const Tensor total = part(backward[0], 1, 0, 1).reshape(Dims{batch, 1, 1});
  const Tensor arrived = ops::stack(forward, 1);
  const Tensor rest = ops::stack(std::span(backward).first(size_t(times)), 1),
               after = ops::stack(std::span(backward).last(size_t(times)), 1);
  const Tensor by_blank = ops::exp(arrived + blanks + after - total);
  const Tensor by_label = ops::exp(part(arrived, 2, 0, labels) + spoken + part(rest, 2, 1, labels) - total);
  Tensor slopes = fused ? ops::exp(values + ops::unsqueeze(arrived + rest - total, 3)) : values * Scalar(0);
  const Tensor at_blank = ops::full(Dims{batch, times, nodes, 1}, Scalar(blank), places_beside(logits));
  slopes = ops::scatter_add(slopes, 3, at_blank, -ops::unsqueeze(by_blank, 3));
  const Tensor label_slopes =
      ops::scatter_add(part(slopes, 2, 0, labels), 3, which, -ops::unsqueeze(by_label, 3));
  slopes = ops::cat({{label_slopes, part(slopes, 2, labels, 1)}}, 2);
  if (clamp > 0) slopes = ops::clamp(slopes, Scalar(-clamp), Scalar(clamp));
  const Tensor in_time =
                   ops::lt(numbers(times).reshape(Dims{1, times, 1, 1}), ends.reshape(Dims{batch, 1, 1, 1})),
               in_labels = ops::le(label.reshape(Dims{1, 1, nodes, 1}), counts.reshape(Dims{batch, 1, 1, 1}));
  slopes = ops::where(ops::logical_and(in_time, in_labels), slopes, Scalar(0.0));
  return {as(-total.reshape(Dims{batch}), logits.dtype()), as(slopes, logits.dtype())};
}

// Every second of the 2 L + 1 states is a blank.
std::tuple<Tensor, Tensor> forced_align(const Tensor& log_probs, const Tensor& targets,
                                        const Tensor& input_lengths, const Tensor& target_lengths,
                                        int64_t blank) {
  const int64_t times = log_probs.sizes()[1], count = targets.sizes()[1], states = 2 * count + 1;
  const bool has_values = !log_probs.device().is_meta();
  if (has_values) {
    MT_CHECK(item(input_lengths).to<int64_t>() == times, "input length mismatch");
    MT_CHECK(item(target_lengths).to<int64_t>() == count, "target length mismatch");
  }
  const Tensor labels = as(ops::select(targets, 0, 0), DType::int64);
  const auto blanks = [&](int64_t n) { return ops::full(Dims{n}, Scalar(blank), places_beside(labels)); };
  const Tensor pairs = ops::stack({{blanks(count), labels}}, 1).reshape(Dims{2 * count});
  const Tensor every = ops::cat({{pairs, blanks(1)}}, 0);
  const Tensor earlier = ops::cat({{blanks(2), part(every, 0, 0, states - 2)}}, 0);
  const Tensor skips = ops::logical_and(ops::ne(every, Scalar(blank)), ops::ne(every, earlier));
  const Tensor repeats = ops::eq(part(labels, 0, 1, count - 1), part(labels, 0, 0, count - 1));
  const int64_t repeated =
      has_values && count > 1 ? item(ops::sum(as(repeats, DType::int64))).to<int64_t>() : 0;
  MT_CHECK(times >= count + repeated, "targets length is too long for CTC. Found log_probs length: ", times,
           ", targets length: ", count, ", and number of repeats: ", repeated);
  const Tensor values = ops::index_select(wide(ops::select(log_probs, 0, 0)), 1, every);
  const auto never = [&](int64_t n) { return filled(Dims{n}, kNever, values); };
  Tensor best = ops::cat({{part(ops::select(values, 0, 0), 0, 0, 2), never(states - 2)}}, 0);
  std::vector<Tensor> steps;
  for (int64_t t = 1; t < times; ++t) {
    const Tensor one = ops::cat({{never(1), part(best, 0, 0, states - 1)}}, 0);
    const Tensor two =
        ops::where(skips, ops::cat({{never(2), part(best, 0, 0, states - 2)}}, 0), Scalar(kNever));
    const auto [way, taken] = ops::max(ops::stack({{best, one, two}}, 0), 0, false);
    steps.push_back(taken);
    best = way + ops::select(values, 0, t);
  }
  const Tensor last = ops::gt(part(best, 0, states - 1, 1), part(best, 0, states - 2, 1));
  std::vector<Tensor> path{size_t(times)};
  Tensor state = as(last, DType::int64) + Scalar(states - 2);
  for (int64_t t = times - 1; t >= 0; --t) {
    path[size_t(t)] = state;
    if (t > 0) state = state - ops::gather(steps[size_t(t) - 1], 0, state);
  }
  const Tensor found = ops::gather(every, 0, ops::cat(path, 0)).reshape(Dims{1, times});
  return {as(found, targets.dtype()), log_probs};
}

// Blocks of samples. Within one, outputs y solve (1 + A) y = samples less what the outputs before the block contribute,
// with A strictly lower triangular and the same along diagonals: the inverse of twice the size has that of the half, H,
// twice in its diagonal, and -H M H below, where M is that part of A.
void lfilter_core_loop(const Tensor& input, const Tensor& coefficients, const Tensor& padded) {
  constexpr int64_t block = 128;
  const int64_t channels = input.sizes()[1], samples = input.sizes()[2], order = coefficients.sizes()[1];
  const Tensor x = wide(input), a = wide(coefficients);
  const Tensor& to = padded;
  const int64_t past = order - 1;
  // flipped[column - row] where that is one, else 0: what output `column` of a window contributes to sample `row`.
  const Tensor from = ops::arange(Scalar(block), places_beside(x)).reshape(Dims{block, 1});
  const Tensor column = ops::arange(Scalar(block + past), places_beside(x)), index = column - from;
  const Tensor known = ops::logical_and(ops::ge(index, Scalar(0)), ops::lt(index, Scalar(past)));
  const Tensor chosen = ops::clamp(index, Scalar(0), Scalar(std::max<int64_t>(past, 1) - 1));
  const Tensor taps =
      ops::index_select(a, 1, chosen.reshape(Dims{-1})).reshape(Dims{channels, block, block + past});
  const Tensor matrix = ops::where(known, taps, Scalar(0.0));
  const Tensor within = part(matrix, 2, past, block);
  Tensor inverse = filled(Dims{channels, 1, 1}, 1, x);
  for (int64_t size = 1; size < block; size *= 2) {
    const Tensor below = part(part(within, 1, size, size), 2, 0, size);
    const Tensor corner = -ops::matmul(ops::matmul(inverse, below), inverse);
    const Tensor top = ops::cat({{inverse, filled(inverse.sizes(), 0, x)}}, 2);
    inverse = ops::cat({{top, ops::cat({{corner, inverse}}, 2)}}, 1);
  }
  const Tensor before = part(matrix, 2, 0, past);
  const Tensor own = part(a, 1, past, 1).reshape(Dims{1, channels, 1});
  for (int64_t start = 0; start < samples; start += block) {
    const int64_t length = std::min(block, samples - start);
    const Tensor place = part(to, 2, start + past, length);
    Tensor rest = part(x, 2, start, length) - own * wide(place);
    if (past > 0) {
      const Tensor outputs = ops::unsqueeze(wide(part(to, 2, start, past)), 3);
      rest = rest - ops::squeeze(ops::matmul(part(before, 1, 0, length), outputs), 3);
    }
    const Tensor solved =
        ops::matmul(part(part(inverse, 1, 0, length), 2, 0, length), ops::unsqueeze(rest, 3));
    ops::copy_(place, as(ops::squeeze(solved, 3), padded.dtype()));
  }
}

}  // namespace mt::substitutes
