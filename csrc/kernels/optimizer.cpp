#include "kernels/optimizer.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "kernels/convert.h"
#include "kernels/iterate.h"
#include "kernels/parallel.h"

namespace mt::kernels {
namespace {

constexpr int64_t kBlock = 256;

// Calls f(blocks, count), where blocks[i] holds elements of the i-th view as double; those whose bit is set in
// `written` are stored back.
template <int N, class F>
void update(const View* const (&views)[N], unsigned written, const F& f) {
  struct Context {
    const F& f;
    unsigned written;
    Converter load[N], store[N];
  } context{f, written, {}, {}};
  for (int i = 0; i < N; ++i) {
    MT_CHECK(same_shape(*views[i], *views[0]), "optimizer: the tensors of a parameter must have one shape");
    context.load[i] = converter(views[i]->dtype, DType::float64);
    context.store[i] = converter(DType::float64, views[i]->dtype);
  }
  Plan plan;
  make_plan(plan, views, N);
  if (plan.numel == 0) return;
  for_each_row(
      plan, kGrain,
      [](char* const* data, const int64_t* strides, int64_t n, const void* given) {
        const Context& c = *static_cast<const Context*>(given);
        double block[N][kBlock];
        double* blocks[N];
        for (int i = 0; i < N; ++i) blocks[i] = block[i];
        for (int64_t begin = 0; begin < n; begin += kBlock) {
          const int64_t count = std::min(kBlock, n - begin);
          for (int i = 0; i < N; ++i)
            c.load[i](data[i] + begin * strides[i], strides[i], reinterpret_cast<char*>(block[i]),
                      sizeof(double), count);
          c.f(blocks, count);
          for (int i = 0; i < N; ++i)
            if (c.written >> i & 1)
              c.store[i](reinterpret_cast<const char*>(block[i]), sizeof(double),
                         data[i] + begin * strides[i], strides[i], count);
        }
      },
      &context);
}

// The order of the blocks in the functions below.
enum { kParameter, kGradient, kFirst, kSecond, kThird };
constexpr unsigned bit(int i) { return 1u << i; }

// One element; `largest` may be null.
[[gnu::always_inline]] inline void adam_element(const AdamStep& s, double& parameter, double gradient,
                                                double& mean, double& square, double* largest) {
  double g = s.maximize ? -gradient : gradient;
  if (s.decoupled) parameter *= 1 - s.rate * s.weight_decay;
  else g += s.weight_decay * parameter;
  mean = s.beta1 * mean + (1 - s.beta1) * g;
  square = s.beta2 * square + (1 - s.beta2) * g * g;
  if (largest) *largest = std::max(*largest, square);
  const double spread = std::sqrt((largest ? *largest : square) / s.correction2) + s.epsilon;
  const double ahead = s.nesterov ? s.beta1 * mean + (1 - s.beta1) * g : mean;
  parameter -= s.rate * (ahead / s.correction1) / spread;
}

}  // namespace

void adam(const View& parameter, const View& gradient, const View& mean, const View& square,
          const View* largest, const AdamStep& step, double scale) {
  const unsigned written = bit(kParameter) | bit(kFirst) | bit(kSecond) | (scale != 1 ? bit(kGradient) : 0u);
  const auto run = [&](double** blocks, int64_t count, double* top) {
    for (int64_t i = 0; i < count; ++i) {
      blocks[kGradient][i] /= scale;
      adam_element(step, blocks[kParameter][i], blocks[kGradient][i], blocks[kFirst][i], blocks[kSecond][i],
                   top ? top + i : nullptr);
    }
  };
  if (largest != nullptr) {
    const View* views[] = {&parameter, &gradient, &mean, &square, largest};
    update(views, written | bit(kThird),
           [&](double** blocks, int64_t count) { run(blocks, count, blocks[kThird]); });
  } else {
    const View* views[] = {&parameter, &gradient, &mean, &square};
    update(views, written, [&](double** blocks, int64_t count) { run(blocks, count, nullptr); });
  }
}

void adam_with_average(const View& parameter, const View& gradient, const View& mean, const View& square,
                       const View& average, const AdamStep& step, double average_decay) {
  const View* views[] = {&parameter, &gradient, &mean, &square, &average};
  update(views, bit(kParameter) | bit(kFirst) | bit(kSecond) | bit(kThird),
         [&](double** blocks, int64_t count) {
           for (int64_t i = 0; i < count; ++i) {
             double& value = blocks[kParameter][i];
             adam_element(step, value, blocks[kGradient][i], blocks[kFirst][i], blocks[kSecond][i], nullptr);
             blocks[kThird][i] = average_decay * blocks[kThird][i] + (1 - average_decay) * value;
           }
         });
}

void sgd(const View& parameter, const View& gradient, const View* momentum, const SgdStep& step,
         double scale) {
  const unsigned written = bit(kParameter) | (scale != 1 ? bit(kGradient) : 0u);
  const auto run = [&](double** blocks, int64_t count, double* buffer) {
    for (int64_t i = 0; i < count; ++i) {
      double& value = blocks[kParameter][i];
      blocks[kGradient][i] /= scale;
      double g = step.maximize ? -blocks[kGradient][i] : blocks[kGradient][i];
      g += step.weight_decay * value;
      if (buffer) {
        buffer[i] = step.first ? g : step.momentum * buffer[i] + (1 - step.dampening) * g;
        g = step.nesterov ? g + step.momentum * buffer[i] : buffer[i];
      }
      value -= step.rate * g;
    }
  };
  if (momentum != nullptr) {
    const View* views[] = {&parameter, &gradient, momentum};
    update(views, written | bit(kFirst),
           [&](double** blocks, int64_t count) { run(blocks, count, blocks[kFirst]); });
  } else {
    const View* views[] = {&parameter, &gradient};
    update(views, written, [&](double** blocks, int64_t count) { run(blocks, count, nullptr); });
  }
}

}  // namespace mt::kernels
