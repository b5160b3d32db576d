#include "kernels/random/random.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <numeric>

#include "kernels/common/arithmetic.h"
#include "kernels/common/copy.h"
#include "kernels/common/cpu_features.h"
#include "kernels/common/iterate.h"
#include "kernels/common/types.h"

namespace mt::kernels {
namespace {

// Calls next() for every element in memory order, the order in which PyTorch's iterator visits a tensor.
template <class T, class Next>
void fill_serially(const View& out, Next next) {
  int64_t numel;
  if (is_dense(out, numel)) {
    T* data = out.as<T>();
    for (int64_t i = 0; i < numel; ++i) data[i] = next();
    return;
  }
  const View* operands[] = {&out};
  Plan plan;
  make_plan(plan, operands, 1);
  const auto row = [](char* const* data, const int64_t* strides, int64_t n, const void* context) {
    Next& make = *const_cast<Next*>(static_cast<const Next*>(context));
    for (int64_t i = 0; i < n; ++i) *reinterpret_cast<T*>(data[0] + i * strides[0]) = make();
  };
  for_each_row_in(plan, 0, plan.numel, row, &next);
}

// Uniform in [0, 1): 53 bits for double, 24 for everything else.
template <class T>
compute_t<T> draw_uniform(Mt19937& generator) {
  if constexpr (std::is_same_v<T, double>) return generator.uniform_double();
  else return generator.uniform_float();
}

// out[i] = make(bits) of 32 random bits each, of which the generator makes many at a time several times faster.
template <class T, class Make>
void draw_each(T* out, int64_t n, Mt19937& generator, Make make) {
  constexpr int64_t most = 512;
  uint32_t bits[most];
  for (int64_t begin = 0; begin < n; begin += most) {
    const int64_t count = std::min(most, n - begin);
    generator.random32(bits, count);
    for (int64_t i = 0; i < count; ++i) out[begin + i] = make(bits[i]);
  }
}

// The same for a view, in memory order.
template <class T, class Make>
void fill_from_bits(const View& out, Mt19937& generator, Make make) {
  int64_t numel;
  if (is_dense(out, numel)) draw_each(out.as<T>(), numel, generator, make);
  else fill_serially<T>(out, [&] { return make(generator.random32()); });
}

// n uniform floats in [0, 1), the way uniform_float() makes them.
void draw_floats(float* out, int64_t n, Mt19937& generator) {
  draw_each(out, n, generator,
            [](uint32_t bits) { return float(int32_t(bits & ((1u << 24) - 1))) * 0x1p-24f; });
}

// Note [Normal in blocks]: from 16 dense elements on, PyTorch turns blocks of 16 uniform numbers into normal
// ones (8 radii, 8 angles, Box-Muller). A rest that is not a multiple of 16 is handled by doing the last 16
// elements again.
// Its AVX2 kernel has the angle's factor in float, its plain one (aarch64 has no other) in double. That is 1 in 10^7 of
// an angle and more than the last place of a sine, so each level does as the kernel that PyTorch runs there.
template <class Turn>
[[gnu::always_inline]] inline void normals_body(float* x, int64_t blocks, float mean, float deviation) {
  constexpr Turn turn = Turn(2.0 * std::numbers::pi);
  for (float* end = x + 16 * blocks; x != end; x += 16) {
#pragma GCC ivdep
    for (int j = 0; j < 8; ++j) {
      const float radius = std::sqrt(-2.0f * math::log(1.0f - x[j]));
      const float angle = float(turn * Turn(x[j + 8]));
      x[j] = radius * math::cos_usual(angle) * deviation + mean;
      x[j + 8] = radius * math::sin_usual(angle) * deviation + mean;
    }
  }
}
void normals_base(float* x, int64_t blocks, float mean, float deviation) {
  normals_body<double>(x, blocks, mean, deviation);
}
MT_WIDE void normals_wide(float* x, int64_t blocks, float mean, float deviation) {
  normals_body<float>(x, blocks, mean, deviation);
}
void blocks_of_normals(float* x, int64_t blocks, float mean, float deviation) {
  (cpu_level ? normals_wide : normals_base)(x, blocks, mean, deviation);
}
void blocks_of_normals(double* x, int64_t blocks, double mean, double deviation) {
  for (double* end = x + 16 * blocks; x != end; x += 16) {
    for (int j = 0; j < 8; ++j) {
      const double radius = std::sqrt(-2.0 * std::log(1.0 - x[j])), angle = 2.0 * std::numbers::pi * x[j + 8];
      x[j] = radius * std::cos(angle) * deviation + mean;
      x[j + 8] = radius * std::sin(angle) * deviation + mean;
    }
  }
}

// float: the whole tensor is filled with uniform numbers first, then block by block; the last block draws
// anew.
template <class C>
void normal_dense(C* data, int64_t n, C mean, C deviation, Mt19937& generator) {
  const auto draw = [&](C* out, int64_t count) {
    if constexpr (std::is_same_v<C, float>) draw_floats(out, count, generator);
    else
      for (int64_t i = 0; i < count; ++i) out[i] = generator.uniform_double();
  };
  draw(data, n);
  blocks_of_normals(data, n / 16, mean, deviation);
  if (n % 16 == 0) return;
  C* last = data + n - 16;
  draw(last, 16);
  blocks_of_normals(last, 1, mean, deviation);
}

// Half types: every block draws its own 16 floats.
template <class T>
void normal_dense_half(T* data, int64_t n, float mean, float deviation, Mt19937& generator) {
  float block[16];
  for (int64_t i = 0; i < n; i += 16) {
    T* target = data + std::min(i, n - 16);
    draw_floats(block, 16, generator);
    blocks_of_normals(block, 1, mean, deviation);
    for (int j = 0; j < 16; ++j) target[j] = T(block[j]);
  }
}

// The largest integer up to which T holds every integer.
template <class T>
constexpr uint64_t largest_exact() {
  if constexpr (std::is_same_v<T, bool>) return 1;
  else if constexpr (std::is_integral_v<T>) return uint64_t(std::numeric_limits<T>::max());
  else
    return uint64_t(1) << (std::is_same_v<T, double>  ? 53
                           : std::is_same_v<T, float> ? 24
                           : std::is_same_v<T, Half>  ? 11
                                                      : 8);
}

// x % divisor for numbers of 32 bits by two products, which take a third of a division's time: the fraction of x / divisor
// in 64 bits, times the divisor.
class Remainder {
 public:
  explicit Remainder(uint32_t divisor) : divisor_(divisor), inverse_(UINT64_MAX / divisor + 1) {}
  uint32_t operator()(uint32_t x) const {
    using Wide = unsigned __int128;
    return uint32_t(Wide(inverse_ * x) * divisor_ >> 64);
  }

 private:
  uint64_t divisor_, inverse_;
};

}  // namespace

namespace {

// x * width + from with one rounding, as PyTorch's build has it.
template <class C>
C scaled(C x, C width, C from) {
  if constexpr (std::is_same_v<C, double>) return std::fma(x, width, from);
  else
    return C(double(x) * double(width) + double(from));  // a double holds the product of two floats exactly
}

}  // namespace

void uniform(const View& out, double low, double high, Mt19937& generator) {
  MT_CHECK(low <= high, "uniform_ expects to return a [from, to) range, but found from=", low,
           " > to=", high);
  MT_CHECK(out.dtype != DType::float64 || std::isfinite(high - low),
           "uniform_ expects to-from <= ", "std::numeric_limits<double>::max(), but found to=", high,
           " and from=", low, " which result in to-from to exceed the limit");
  if (out.dtype == DType::float32) {
    constexpr double most = std::numeric_limits<float>::max();
    MT_CHECK(low >= -most && low <= most, "from is out of bounds for float");
    MT_CHECK(high >= -most && high <= most, "to is out of bounds for float");
    MT_CHECK(high - low <= most,
             "uniform_ expects to-from <= std::numeric_limits<float>::max(), but found to=", high,
             " and from=", low, " which result in to-from to exceed the limit");
  }
  dispatch<domains::floating>(out.dtype, "uniform", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = compute_t<T>;
    const C from = C(low), width = C(high) - from;
    // Rounding to a half type may reach `high`, which the range excludes: PyTorch gives `low` then.
    const C excluded = C(cast<T>(high));
    int64_t numel;
    if constexpr (std::is_same_v<T, float>) {
      if (is_dense(out, numel)) {
        float* data = out.as<float>();
        draw_floats(data, numel, generator);
        if (from == 0.0f && width == 1.0f) return;
        // One rounding, as a fused multiply-add has: a double holds the product of two floats exactly.
        for (int64_t i = 0; i < numel; ++i) data[i] = float(double(data[i]) * double(width) + double(from));
        return;
      }
    }
    fill_serially<T>(out, [&] {
      const T value = cast<T>(scaled<C>(draw_uniform<T>(generator), width, from));
      return is_half_v<T> && C(value) == excluded ? cast<T>(from) : value;
    });
  });
}

void normal(const View& out, double mean, double deviation, Mt19937& generator) {
  MT_CHECK(deviation >= 0.0, "normal expects std >= 0.0, but found std ", deviation);
  dispatch<domains::floating>(out.dtype, "normal", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = compute_t<T>;
    int64_t numel;
    if (is_dense(out, numel) && numel >= 16) {
      if constexpr (is_half_v<T>)
        normal_dense_half(out.as<T>(), numel, float(mean), float(deviation), generator);
      else normal_dense<T>(out.as<T>(), numel, T(mean), T(deviation), generator);
    } else {
      fill_serially<T>(out, [&] { return cast<T>(C(generator.normal_double() * deviation + mean)); });
    }
  });
}

void bernoulli(const View& out, double probability, Mt19937& generator) {
  MT_CHECK(probability >= 0 && probability <= 1,
           "bernoulli_ expects p to be in [0, 1], but got p=", probability);
  dispatch<domains::ordered>(out.dtype, "bernoulli_scalar_cpu_", [&](auto tag) {
    using T = typename decltype(tag)::type;
    fill_serially<T>(out, [&] { return cast<T>(float(generator.uniform_double() < probability)); });
  });
}

void bernoulli(const View& out, const View& probabilities, Mt19937& generator) {
  MT_CHECK(same_shape(out, probabilities), "bernoulli: the probabilities must have the result's shape");
  // Probabilities become doubles in place of a dtype pair per combination; float ones still draw 24 bits, as
  // in PyTorch.
  const bool wide = probabilities.dtype == DType::float64;
  dispatch<domains::floating>(probabilities.dtype, "bernoulli_tensor_cpu_p_", [](auto) {});
  dispatch<domains::ordered>(out.dtype, "bernoulli_tensor_cpu_self_", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const int64_t numel = out.numel();
    std::unique_ptr<double[]> p(new double[size_t(numel) + 1]);
    std::unique_ptr<T[]> result(new T[size_t(numel) + 1]);
    int64_t strides[kMaxDims];
    int64_t expected = 1;
    MT_CHECK(out.ndim <= kMaxDims, "tensors with more than ", kMaxDims, " dimensions are not supported");
    int order[kMaxDims];  // of the dimensions in memory
    std::iota(order, order + out.ndim, 0);
    std::stable_sort(order, order + out.ndim, [&](int a, int b) { return out.strides[a] > out.strides[b]; });
    for (int i = out.ndim - 1; i >= 0; --i) strides[order[i]] = expected, expected *= out.sizes[order[i]];
    copy(probabilities, {p.get(), out.sizes, strides, out.ndim, DType::float64});
    for (int64_t i = 0; i < numel; ++i) {
      MT_CHECK(p[i] >= 0 && p[i] <= 1, "Expected p_in >= 0 && p_in <= 1 to be true, but got false. (p_in is ",
               p[i], ")");
      const double u = wide ? generator.uniform_double() : double(generator.uniform_float());
      result[i] = cast<T>(float(u < p[i]));
    }
    copy({result.get(), out.sizes, strides, out.ndim, out.dtype}, out);
  });
}

void exponential(const View& out, double rate, Mt19937& generator) {
  MT_CHECK(rate > 0, "exponential_ expects lambda > 0.0, but found lambda=", rate);
  dispatch<domains::floating>(out.dtype, "exponential_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = compute_t<T>;
    fill_serially<T>(out, [&] { return cast<T>(C(-1.0 / rate * std::log1p(-generator.uniform_double()))); });
  });
}

void cauchy(const View& out, double median, double sigma, Mt19937& generator) {
  MT_CHECK(sigma > 0, "cauchy_ expects sigma > 0.0, but found sigma=", sigma);
  dispatch<domains::floating>(out.dtype, "cauchy", [&](auto tag) {
    using T = typename decltype(tag)::type;
    fill_serially<T>(out, [&] {
      return cast<T>(median + sigma * std::tan(std::numbers::pi * (generator.uniform_double() - 0.5)));
    });
  });
}

void log_normal(const View& out, double mean, double deviation, Mt19937& generator) {
  MT_CHECK(deviation > 0, "log_normal_ expects std > 0.0, but found std=", deviation);
  dispatch<domains::floating>(out.dtype, "log_normal", [&](auto tag) {
    using T = typename decltype(tag)::type;
    fill_serially<T>(out, [&] { return cast<T>(std::exp(generator.normal_double() * deviation + mean)); });
  });
}

void geometric(const View& out, double probability, Mt19937& generator) {
  MT_CHECK(probability > 0 && probability < 1,
           "geometric_ expects p to be in (0, 1), but got p=", probability);
  dispatch<domains::real>(out.dtype, "geometric", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const double failure = std::log1p(-probability);
    fill_serially<T>(out, [&] {
      const double trials = std::ceil(std::log(generator.uniform_double()) / failure);
      return std::isfinite(trials) || !std::is_integral_v<T> ? cast<T>(trials)
                                                             : std::numeric_limits<T>::max();
    });
  });
}

void random_ints(const View& out, int64_t low, std::optional<int64_t> high, Mt19937& generator) {
  MT_CHECK(!high || low < *high, "random_ expects 'from' to be less than 'to', but got from=", low,
           " >= to=", high.value_or(0));
  dispatch<domains::ordered>(out.dtype, "random_from_to", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const uint64_t end = high ? uint64_t(*high) : largest_exact<T>() + 1;
    const uint64_t range = end - uint64_t(low);  // 0: all 64 bits
    const auto number = [low](uint64_t drawn) { return cast<T>(int64_t(drawn + uint64_t(low))); };
    // PyTorch draws 64 bits once the range reaches 2^28, which keeps the bias of the remainder below 2^-36.
    if (range != 0 && range < (uint64_t(1) << 28)) {
      const Remainder below{uint32_t(range)};
      fill_from_bits<T>(out, generator, [&](uint32_t bits) { return number(below(bits)); });
    } else {
      fill_serially<T>(out, [&] {
        const uint64_t bits = generator.random64();
        return number(range ? bits % range : bits);
      });
    }
  });
}

void random_full(const View& out, Mt19937& generator) {
  dispatch<domains::ordered>(out.dtype, "random", [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr bool wide = std::is_same_v<T, double> || std::is_same_v<T, int64_t>;
    const auto number = [](uint64_t bits) { return cast<T>(int64_t(bits % (largest_exact<T>() + 1))); };
    if constexpr (wide) fill_serially<T>(out, [&] { return number(generator.random64()); });
    else fill_from_bits<T>(out, generator, [&](uint32_t bits) { return number(bits); });
  });
}

void randperm(const View& out, Mt19937& generator) {
  MT_CHECK(out.ndim == 1, "randperm: the result must have one dimension, got ", out.ndim);
  dispatch<domains::real>(out.dtype, "randperm", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const int64_t n = out.sizes[0], stride = out.strides[0];
    T* data = out.as<T>();
    for (int64_t i = 0; i < n; ++i) data[i * stride] = cast<T>(i);
    // Beyond this length 32 bits would favour some permutations noticeably; PyTorch draws the line at 2^32 /
    // 20.
    const bool wide = n >= int64_t(std::numeric_limits<uint32_t>::max() / 20);
    for (int64_t i = 0; i < n - 1; ++i) {
      const uint64_t left = uint64_t(n - i);
      const int64_t other = i + int64_t((wide ? generator.random64() : generator.random32()) % left);
      std::swap(data[i * stride], data[other * stride]);
    }
  });
}

}  // namespace mt::kernels
