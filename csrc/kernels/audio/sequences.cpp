#include "kernels/audio/sequences.h"

#include <limits>
#include <vector>

#include "kernels/common/dense.h"
#include "kernels/common/parallel.h"
#include "kernels/common/rows.h"

namespace mt::kernels {

void recursive_filter(const View& input, const View& flipped, const View& padded) {
  const int64_t channels = input.sizes[1], samples = input.sizes[2], order = flipped.sizes[1];
  with_compute_type(input.dtype, "lfilter_core_loop", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const DenseInput<C> x(input), a(flipped);
    const DenseOutput<C> y(padded, Access::update);
    const int64_t grain = std::max<int64_t>(kGrain / std::max<int64_t>(samples * order, 1), 1);
    parallel_for(0, input.sizes[0] * channels, grain, [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line) {
        const C *from = x.data() + line * samples, *weights = a.data() + line % channels * order;
        C* to = y.data() + line * (samples + order - 1);
        for (int64_t t = 0; t < samples; ++t) {
          C value = from[t];
          for (int64_t i = 0; i < order; ++i) value -= weights[i] * to[t + i];
          to[t + order - 1] = value;
        }
      }
    });
    y.store();
  });
}

void align_labels(const View& log_probs, const View& targets, int64_t blank, const View& path) {
  const int64_t times = log_probs.sizes[0], classes = log_probs.sizes[1], count = targets.sizes[0];
  const DenseInput<int64_t> labels(targets);
  const DenseOutput<int64_t> found(path);
  int64_t repeats = 0;
  for (int64_t i = 0; i < count; ++i) {
    MT_CHECK_AS(index, labels[i] >= 0 && labels[i] < classes, "forced_align: target ", labels[i],
                " is not one of ", classes, " classes");
    repeats += i > 0 && labels[i] == labels[i - 1];
  }
  MT_CHECK(times >= count + repeats, "targets length is too long for CTC. Found log_probs length: ", times,
           ", targets length: ", count, ", and number of repeats: ", repeats);
  // Every second state is a blank; a state follows itself, the one before it, or skips a blank between two labels.
  const int64_t states = 2 * count + 1;
  const auto label = [&](int64_t s) { return s % 2 ? labels[s / 2] : blank; };
  const auto may_skip = [&](int64_t s) { return s % 2 && s > 1 && label(s) != label(s - 2); };
  with_compute_type(log_probs.dtype, "forced_align", [&](auto tag) {
    using C = typename decltype(tag)::type;
    constexpr C never = -std::numeric_limits<C>::infinity();
    const DenseInput<C> x(log_probs);
    std::vector<C> best(size_t(states), never), before(best);
    std::vector<int8_t> step(size_t(times * states), 0);
    for (int64_t t = 0; t < times; ++t) {
      best.swap(before);
      for (int64_t s = 0; s < states; ++s) {
        C way = t == 0 ? (s < 2 ? C(0) : never) : before[size_t(s)];
        int8_t taken = 0;
        if (t > 0 && s > 0 && before[size_t(s - 1)] > way) way = before[size_t(s - 1)], taken = 1;
        if (t > 0 && may_skip(s) && before[size_t(s - 2)] > way) way = before[size_t(s - 2)], taken = 2;
        best[size_t(s)] = way + x[t * classes + label(s)];
        step[size_t(t * states + s)] = taken;
      }
    }
    int64_t s = best[size_t(states - 1)] > best[size_t(states - 2)] ? states - 1 : states - 2;
    for (int64_t t = times - 1; t >= 0; --t) {
      found[t] = label(s);
      s -= step[size_t(t * states + s)];
    }
  });
  found.store();
}

}  // namespace mt::kernels
