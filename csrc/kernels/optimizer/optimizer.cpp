#include "kernels/optimizer/optimizer.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "kernels/common/convert.h"
#include "kernels/common/cpu_features.h"
#include "kernels/common/iterate.h"
#include "kernels/common/parallel.h"

namespace mt::kernels {
namespace {

constexpr int64_t kBlock = 512;
constexpr int kMostViews = 5;

// The order of the views of an entry.
enum { kParameter, kGradient, kFirst, kSecond, kThird };
constexpr unsigned bit(int i) { return 1u << i; }

// One step over n elements of each block, which are arrays of the compute type.
using Loop = void (*)(void* const* blocks, int64_t n, const void* rule);

struct Entry {
  View views[kMostViews];
  const void* rule;
};

struct Work {
  int count;         // views of an entry
  unsigned written;  // bit i: view i is written
  double scale;
  Loop loop;
  DType compute;
};

struct RowContext {
  const Work& work;
  const void* rule;
  Converter load[kMostViews], store[kMostViews];
  bool direct[kMostViews];  // elements of the compute type
};

template <class C>
void divide(C* values, int64_t n, double by) {
  for (int64_t i = 0; i < n; ++i) values[i] = C(values[i] / C(by));
}

// Blocks lie in memory as they are, or are converted on the stack (Note [Staging] in elementwise_impl.h).
void run_row(char* const* data, const int64_t* strides, int64_t n, const void* given) {
  const RowContext& c = *static_cast<const RowContext*>(given);
  const Work& work = c.work;
  const int64_t size = int64_t(itemsize(work.compute));
  alignas(64) char staged[kMostViews][kBlock * sizeof(double)];
  void* blocks[kMostViews];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = std::min(kBlock, n - begin);
    for (int i = 0; i < work.count; ++i) {
      char* at = data[i] + begin * strides[i];
      const bool direct = c.direct[i] && strides[i] == size;
      blocks[i] = direct ? at : staged[i];
      if (!direct) c.load[i](at, strides[i], staged[i], size, count);
    }
    if (work.scale != 1) {
      if (work.compute == DType::float32) divide(static_cast<float*>(blocks[kGradient]), count, work.scale);
      else divide(static_cast<double*>(blocks[kGradient]), count, work.scale);
    }
    work.loop(blocks, count, c.rule);
    for (int i = 0; i < work.count; ++i)
      if ((work.written >> i & 1) && blocks[i] == staged[i])
        c.store[i](staged[i], size, data[i] + begin * strides[i], strides[i], count);
  }
}

// All entries in one parallel region: ranges are cut out of the elements of the whole list.
void run(const std::vector<Entry>& entries, const Work& work) {
  struct Planned {
    Plan plan;
    int64_t begin;
  };
  std::vector<Planned> planned(entries.size());
  int64_t total = 0;
  for (size_t e = 0; e < entries.size(); ++e) {
    const View* views[kMostViews];
    for (int i = 0; i < work.count; ++i) {
      views[i] = &entries[e].views[i];
      MT_CHECK(same_shape(*views[i], *views[0]), "optimizer: the tensors of a parameter must have one shape");
    }
    make_plan(planned[e].plan, views, work.count);
    planned[e].begin = total;
    total += planned[e].plan.numel;
  }
  parallel_for(0, total, kGrain / 4, [&](int64_t begin, int64_t end) {
    auto entry = std::upper_bound(planned.begin(), planned.end(), begin,
                                  [](int64_t at, const Planned& p) { return at < p.begin; });
    for (--entry; entry != planned.end() && entry->begin < end; ++entry) {
      const int64_t from = std::max<int64_t>(begin - entry->begin, 0);
      const int64_t to = std::min(end - entry->begin, entry->plan.numel);
      if (from >= to) continue;
      const Entry& e = entries[size_t(entry - planned.begin())];
      RowContext context{work, e.rule, {}, {}, {}};
      for (int i = 0; i < work.count; ++i) {
        const DType dtype = e.views[i].dtype;
        context.direct[i] = dtype == work.compute;
        context.load[i] = converter(dtype, work.compute);
        context.store[i] = converter(work.compute, dtype);
      }
      for_each_row_in(entry->plan, from, to, run_row, &context);
    }
  });
}

// The dtype in which the entries are computed.
DType compute_dtype(const std::vector<Entry>& entries, int count) {
  for (const Entry& e : entries)
    for (int i = 0; i < count; ++i)
      if (e.views[i].dtype == DType::float64) return DType::float64;
  return DType::float32;
}

// The loop of a step at the machine's level. Step::element<C>(rule, blocks, i) is one element.
template <class Step, class C>
[[gnu::always_inline]] inline void step_body(void* const* given, int64_t n, const void* rule) {
  const typename Step::template Rule<C> r(*static_cast<const typename Step::Given*>(rule));
  C* blocks[kMostViews] = {};
  for (int i = 0; i < Step::kViews; ++i) blocks[i] = static_cast<C*>(given[i]);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) Step::element(r, blocks, i);
}
template <class Step, class C>
void step_base(void* const* blocks, int64_t n, const void* rule) {
  step_body<Step, C>(blocks, n, rule);
}
template <class Step, class C>
MT_WIDE void step_wide(void* const* blocks, int64_t n, const void* rule) {
  step_body<Step, C>(blocks, n, rule);
}

template <class Step>
Loop loop_for(DType compute) {
  const bool wide = kHasLevels && cpu_level >= 1;
  if (compute == DType::float32) return wide ? step_wide<Step, float> : step_base<Step, float>;
  return wide ? step_wide<Step, double> : step_base<Step, double>;
}

template <class Step>
void run_step(const std::vector<Entry>& entries, unsigned written, double scale) {
  const DType compute = compute_dtype(entries, Step::kViews);
  if (scale != 1) written |= bit(kGradient);
  run(entries, {Step::kViews, written, scale, loop_for<Step>(compute), compute});
}

template <class C>
struct AdamRule {
  C sign, shrink, decay, beta1, beta2, rest1, rest2, spread, epsilon, step_size, ahead, ahead_gradient;
  explicit AdamRule(const AdamStep& s)
      : sign(C(s.maximize ? -1 : 1)),
        shrink(C(s.decoupled ? 1 - s.rate * s.weight_decay : 1)),
        decay(C(s.weight_decay)),
        beta1(C(s.beta1)),
        beta2(C(s.beta2)),
        rest1(C(1 - s.beta1)),
        rest2(C(1 - s.beta2)),
        spread(C(std::sqrt(s.correction2))),
        epsilon(C(s.epsilon)),
        step_size(C(s.rate / s.correction1)),
        ahead(C(s.nesterov ? s.beta1 : 1)),
        ahead_gradient(C(s.nesterov ? 1 - s.beta1 : 0)) {}
};

// kDecay: weight decay is added to the gradient.
template <bool kDecay, bool kLargest>
struct Adam {
  using Given = AdamStep;
  template <class C> using Rule = AdamRule<C>;
  static constexpr int kViews = kLargest ? 5 : 4;

  template <class C>
  [[gnu::always_inline]] static inline void element(const Rule<C>& r, C* const* blocks, int64_t i) {
    C g = blocks[kGradient][i] * r.sign;
    C value = blocks[kParameter][i] * r.shrink;
    if constexpr (kDecay) g += r.decay * value;
    const C mean = blocks[kFirst][i] + r.rest1 * (g - blocks[kFirst][i]);
    const C square = blocks[kSecond][i] * r.beta2 + r.rest2 * g * g;
    C widest = square;
    if constexpr (kLargest) {
      const C before = blocks[kThird][i];
      blocks[kThird][i] = widest = before > square ? before : square;
    }
    const C denominator = std::sqrt(widest) / r.spread + r.epsilon;
    blocks[kFirst][i] = mean;
    blocks[kSecond][i] = square;
    blocks[kParameter][i] = value - r.step_size * ((r.ahead * mean + r.ahead_gradient * g) / denominator);
  }
};

struct AveragedStep : AdamStep {
  double average_decay;
};
template <class C>
struct AveragedRule : AdamRule<C> {
  C keep, rest;
  explicit AveragedRule(const AveragedStep& s)
      : AdamRule<C>(s), keep(C(s.average_decay)), rest(C(1 - s.average_decay)) {}
};
template <bool kDecay>
struct AveragedAdam {
  using Given = AveragedStep;
  template <class C> using Rule = AveragedRule<C>;
  static constexpr int kViews = 5;

  template <class C>
  [[gnu::always_inline]] static inline void element(const Rule<C>& r, C* const* blocks, int64_t i) {
    Adam<kDecay, false>::element(static_cast<const AdamRule<C>&>(r), blocks, i);
    blocks[kThird][i] = r.keep * blocks[kThird][i] + r.rest * blocks[kParameter][i];
  }
};

template <class C>
struct SgdRule {
  C sign, decay, momentum, rest, rate;
  explicit SgdRule(const SgdStep& s)
      : sign(C(s.maximize ? -1 : 1)),
        decay(C(s.weight_decay)),
        momentum(C(s.momentum)),
        rest(C(1 - s.dampening)),
        rate(C(s.rate)) {}
};
enum class Momentum { none, first, plain, nesterov_first, nesterov };

template <bool kDecay, Momentum kMomentum>
struct Sgd {
  using Given = SgdStep;
  template <class C> using Rule = SgdRule<C>;
  static constexpr int kViews = kMomentum == Momentum::none ? 2 : 3;

  template <class C>
  [[gnu::always_inline]] static inline void element(const Rule<C>& r, C* const* blocks, int64_t i) {
    const C value = blocks[kParameter][i];
    C g = blocks[kGradient][i] * r.sign;
    if constexpr (kDecay) g += r.decay * value;
    if constexpr (kMomentum != Momentum::none) {
      constexpr bool first = kMomentum == Momentum::first || kMomentum == Momentum::nesterov_first;
      C buffer = g;
      if constexpr (!first) buffer = blocks[kFirst][i] * r.momentum + r.rest * g;
      blocks[kFirst][i] = buffer;
      constexpr bool plain = kMomentum == Momentum::first || kMomentum == Momentum::plain;
      if constexpr (plain) g = buffer;
      else g += r.momentum * buffer;
    }
    blocks[kParameter][i] = value - r.rate * g;
  }
};

template <class C>
struct AdagradRule {
  C sign, decay, epsilon, rate;
  explicit AdagradRule(const AdagradStep& s)
      : sign(C(s.maximize ? -1 : 1)), decay(C(s.weight_decay)), epsilon(C(s.epsilon)), rate(C(s.rate)) {}
};
template <bool kDecay>
struct Adagrad {
  using Given = AdagradStep;
  template <class C> using Rule = AdagradRule<C>;
  static constexpr int kViews = 3;

  template <class C>
  [[gnu::always_inline]] static inline void element(const Rule<C>& r, C* const* blocks, int64_t i) {
    const C value = blocks[kParameter][i];
    C g = blocks[kGradient][i] * r.sign;
    if constexpr (kDecay) g += r.decay * value;
    const C sum = blocks[kFirst][i] + g * g;
    blocks[kFirst][i] = sum;
    blocks[kParameter][i] = value - r.rate * g / (std::sqrt(sum) + r.epsilon);
  }
};

template <bool kDecay>
void sgd_with(Momentum momentum, const std::vector<Entry>& entries, double scale) {
  const unsigned written = bit(kParameter) | bit(kFirst);
  switch (momentum) {
    case Momentum::none: return run_step<Sgd<kDecay, Momentum::none>>(entries, bit(kParameter), scale);
    case Momentum::first: return run_step<Sgd<kDecay, Momentum::first>>(entries, written, scale);
    case Momentum::plain: return run_step<Sgd<kDecay, Momentum::plain>>(entries, written, scale);
    case Momentum::nesterov_first:
      return run_step<Sgd<kDecay, Momentum::nesterov_first>>(entries, written, scale);
    case Momentum::nesterov: return run_step<Sgd<kDecay, Momentum::nesterov>>(entries, written, scale);
  }
}

Momentum momentum_of(bool with_momentum, const SgdStep& step) {
  if (!with_momentum) return Momentum::none;
  if (step.nesterov) return step.first ? Momentum::nesterov_first : Momentum::nesterov;
  return step.first ? Momentum::first : Momentum::plain;
}

bool decays_gradient(const AdamStep& step) { return !step.decoupled && step.weight_decay != 0; }

}  // namespace

void adam(std::span<const AdamTensors> tensors, bool amsgrad, double scale) {
  if (tensors.empty()) return;
  std::vector<Entry> entries;
  entries.reserve(tensors.size());
  for (const AdamTensors& t : tensors)
    entries.push_back({{t.parameter, t.gradient, t.mean, t.square, t.largest}, &t.step});
  const unsigned written = bit(kParameter) | bit(kFirst) | bit(kSecond) | (amsgrad ? bit(kThird) : 0u);
  const bool decay = decays_gradient(tensors[0].step);  // one rule for the list, but for the corrections
  if (decay && amsgrad) run_step<Adam<true, true>>(entries, written, scale);
  else if (decay) run_step<Adam<true, false>>(entries, written, scale);
  else if (amsgrad) run_step<Adam<false, true>>(entries, written, scale);
  else run_step<Adam<false, false>>(entries, written, scale);
}

void adam_with_average(const AdamTensors& t, double average_decay) {
  const AveragedStep step{t.step, average_decay};
  const std::vector<Entry> entries{{{t.parameter, t.gradient, t.mean, t.square, t.largest}, &step}};
  const unsigned written = bit(kParameter) | bit(kFirst) | bit(kSecond) | bit(kThird);
  if (decays_gradient(t.step)) run_step<AveragedAdam<true>>(entries, written, 1);
  else run_step<AveragedAdam<false>>(entries, written, 1);
}

void sgd(std::span<const SgdTensors> tensors, bool with_momentum, const SgdStep& step, double scale) {
  std::vector<Entry> entries;
  entries.reserve(tensors.size());
  for (const SgdTensors& t : tensors) entries.push_back({{t.parameter, t.gradient, t.momentum}, &step});
  const Momentum momentum = momentum_of(with_momentum, step);
  if (step.weight_decay != 0) sgd_with<true>(momentum, entries, scale);
  else sgd_with<false>(momentum, entries, scale);
}

void adagrad(std::span<const AdagradTensors> tensors, double scale) {
  if (tensors.empty()) return;
  std::vector<Entry> entries;
  entries.reserve(tensors.size());
  for (const AdagradTensors& t : tensors) entries.push_back({{t.parameter, t.gradient, t.sum}, &t.step});
  const unsigned written = bit(kParameter) | bit(kFirst);
  if (tensors[0].step.weight_decay != 0) run_step<Adagrad<true>>(entries, written, scale);
  else run_step<Adagrad<false>>(entries, written, scale);
}

namespace {

struct Unscale {
  double factor;
  std::atomic<bool>* found;
};
template <class C>
void unscale_block(void* const* blocks, int64_t n, const void* given) {
  const Unscale& u = *static_cast<const Unscale*>(given);
  C* values = static_cast<C*>(blocks[0]);
  bool bad = false;
  for (int64_t i = 0; i < n; ++i) {
    bad |= !std::isfinite(values[i]);
    values[i] = u.factor == 1 ? values[i] : C(values[i] * C(u.factor));
  }
  if (bad) u.found->store(true, std::memory_order_relaxed);
}

}  // namespace

bool unscale(std::span<const View> tensors, double factor) {
  std::atomic<bool> found{false};
  const Unscale rule{factor, &found};
  std::vector<Entry> entries;
  for (const View& view : tensors) entries.push_back({{view}, &rule});
  const DType compute = compute_dtype(entries, 1);
  const Loop loop = compute == DType::float32 ? unscale_block<float> : unscale_block<double>;
  run(entries, {1, bit(0), 1, loop, compute});
  return found;
}

ScaleState updated_scale(ScaleState now, bool found_inf, double growth, double backoff, int64_t interval) {
  if (found_inf) return {now.scale * backoff, 0};
  if (now.successes + 1 != interval) return {now.scale, now.successes + 1};
  const double grown = now.scale * growth;
  return {std::isfinite(float(grown)) ? grown : now.scale, 0};
}

}  // namespace mt::kernels
