#include "check.h"
#include "kernels/softmax/softmax.h"

using namespace mt;
using namespace mt::kernels;

namespace {
std::function<float(int64_t)> wave = [](int64_t i) { return float((i * 29) % 23) * 0.3f - 3.0f; };
}  // namespace

TEST("softmax and log softmax follow their definitions along every dimension") {
  for (int dim : {0, 1, 2}) {
    for (bool log : {false, true}) {
      Array<float> in({4, 37, 5}, wave), out({4, 37, 5});
      softmax(in.view(), out.view(), dim, log);
      const int64_t size = in.sizes[dim], stride = in.strides[dim];
      bool fine = true;
      for (int64_t i = 0; i < 4 * 37 * 5; ++i) {
        const int64_t first = i - (i / stride % size) * stride;
        double total = 0;
        for (int64_t k = 0; k < size; ++k) total += std::exp(double(in[first + k * stride]));
        const double wanted = std::exp(double(in[i])) / total;
        fine &= std::fabs(double(out[i]) - (log ? std::log(wanted) : wanted)) < 2e-6;
      }
      CHECK(fine);
    }
  }
}

TEST("softmax survives large values, infinities, half types and long rows") {
  Array<float> in({1, 3}), out({1, 3});
  in.data = {1000, 1001, -INFINITY};
  softmax(in.view(), out.view(), 1, false);
  CHECK_NEAR(out[1], 0.7310586, 1e-6);
  CHECK(out[2] == 0.0f);
  softmax(in.view(), out.view(), 1, true);
  CHECK_NEAR(out[0], -1.3132617, 1e-6);
  in.data = {-INFINITY, -INFINITY, -INFINITY};
  softmax(in.view(), out.view(), 1, false);
  CHECK(std::isnan(out[0]));
  Array<Half> half({2, 5000}, Half(1.0f)), result({2, 5000});
  softmax(half.view(), result.view(), 1, false);
  CHECK(float(result[9999]) == float(Half(1.0f / 5000)));
  Array<int64_t> ints({2});
  CHECK_FAILS(softmax(ints.view(), ints.view(), 0, false), "\"softmax\" not implemented for 'Long'");
  Array<float> none({0, 3}), empty({0, 3});
  softmax(none.view(), empty.view(), 1, false);
}

TEST("softmax backward is the Jacobian times the gradient") {
  for (bool log : {false, true}) {
    Array<double> x({3, 6}, std::function<double(int64_t)>([](int64_t i) { return wave(i); })), y({3, 6});
    Array<double> grad({3, 6}, std::function<double(int64_t)>([](int64_t i) { return double(i % 4) - 1.0; })),
        got({3, 6});
    softmax(x.view(), y.view(), 1, log);
    softmax_backward(grad.view(), y.view(), got.view(), 1, log);
    for (int64_t i : {0, 5, 8, 17}) {  // finite differences
      const double step = 1e-6, keep = x[i];
      Array<double> up({3, 6}), down({3, 6});
      x[i] = keep + step;
      softmax(x.view(), up.view(), 1, log);
      x[i] = keep - step;
      softmax(x.view(), down.view(), 1, log);
      x[i] = keep;
      double wanted = 0;
      for (int64_t k = 0; k < 18; ++k) wanted += grad[k] * (up[k] - down[k]) / (2 * step);
      CHECK_NEAR(got[i], wanted, 1e-6);
    }
  }
}
