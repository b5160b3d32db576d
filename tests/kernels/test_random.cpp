#include <cstring>

#include "check.h"
#include "kernels/common/cpu_features.h"
#include "kernels/common/types.h"
#include "kernels/random/random.h"
#include "torch_values.h"

using namespace mt;
using namespace mt::kernels;

namespace {

// Largest difference in units of the last place of T at the wanted value.
template <class T, size_t N>
double distance(Array<T>& got, const double (&wanted)[N]) {
  if (got.data.size() != N) return 1e9;
  double worst = 0;
  for (size_t i = 0; i < N; ++i) {
    int exponent;
    std::frexp(wanted[i], &exponent);
    const int digits = std::is_same_v<T, double>  ? 53
                       : std::is_same_v<T, float> ? 24
                       : std::is_same_v<T, Half>  ? 11
                                                  : 8;
    worst = std::max(
        worst, std::fabs(double(compute_t<T>(got.data[i])) - wanted[i]) / std::ldexp(1.0, exponent - digits));
  }
  return worst;
}

template <class T, size_t N>
bool equal(Array<T>& got, const int64_t (&wanted)[N]) {
  bool same = got.data.size() == N;
  for (size_t i = 0; same && i < N; ++i) same = int64_t(got.data[i]) == wanted[i];
  return same;
}

template <class T, size_t N5, size_t N37>
void check_type(const double (&uniforms)[N5], const double (&small)[N5], const double (&blocks)[N37],
                const double (&exponentials)[N5], const double (&full)[N5]) {
  Array<T> five({int64_t(N5)}), many({int64_t(N37)});
  Mt19937 a(7);
  uniform(five.view(), -1.3, 2.7, a);
  CHECK(distance(five, uniforms) == 0);
  Mt19937 b(7);
  normal(five.view(), 0.3, 1.7, b);
  CHECK(distance(five, small) <= (std::is_same_v<T, double> ? 2 : 0));
  Mt19937 c(7);
  normal(many.view(), 0.3, 1.7, c);
  CHECK(distance(many, blocks) <=
        (is_half_v<T> ? 1 : 8));  // PyTorch's vector code rounds differently in places
  Mt19937 d(7);
  exponential(five.view(), 2.5, d);
  CHECK(distance(five, exponentials) <= 1);
  Mt19937 e(7);
  random_full(five.view(), e);
  CHECK(distance(five, full) == 0);
}

}  // namespace

TEST("the same seed gives PyTorch's uniform, normal, exponential and random numbers") {
  using namespace torch_values;
  // See Note [Normal in blocks].
  check_type<float>(uniform_float, normal_small_float,
                    cpu_level ? normal_blocks_float : normal_blocks_float_plain, exponential_float,
                    random_full_float);
  check_type<double>(uniform_double, normal_small_double, normal_blocks_double, exponential_double,
                     random_full_double);
  check_type<Half>(uniform_half, normal_small_half, normal_blocks_half, exponential_half, random_full_half);
  check_type<BFloat16>(uniform_bfloat16, normal_small_bfloat16, normal_blocks_bfloat16, exponential_bfloat16,
                       random_full_bfloat16);
  Array<float> t({5, 4});
  t.strides = {1, 5};
  Mt19937 generator(7);
  normal(t.view(), 0.0, 1.0, generator);
  CHECK(distance(t, normal_transposed) == 0);
}

TEST("the same seed gives PyTorch's integers, coin tosses and permutations") {
  const auto ints = [](int64_t low, int64_t high) {
    Array<int64_t> out({4});
    Mt19937 generator(7);
    random_ints(out.view(), low, high, generator);
    return out;
  };
  auto small = ints(-5, 5), middle = ints(0, (1 << 28) - 1), large = ints(0, 1 << 28),
       huge = ints(-(int64_t(1) << 62), int64_t(1) << 62);
  CHECK(equal(small, torch_values::ints_small));
  CHECK(equal(middle, torch_values::ints_middle));
  CHECK(equal(large, torch_values::ints_large));
  CHECK(equal(huge, torch_values::ints_huge));
  Array<uint8_t> bytes({4});
  Array<int32_t> words({4});
  Array<int64_t> longs({4}), order({20});
  Mt19937 a(7), b(7), c(7), d(7), e(7), f(7);
  random_full(bytes.view(), a);
  random_full(words.view(), b);
  random_full(longs.view(), c);
  randperm(order.view(), d);
  CHECK(equal(bytes, torch_values::random_full_uint8));
  CHECK(equal(words, torch_values::random_full_int32));
  CHECK(equal(longs, torch_values::random_full_int64));
  CHECK(equal(order, torch_values::permutation));
  Array<float> coins({20}), each({10}), p({10}, 0.4f);
  bernoulli(coins.view(), 0.4, e);
  CHECK(distance(coins, torch_values::bernoulli) == 0);
  bernoulli(each.view(), p.view(), f);
  CHECK(distance(each, torch_values::bernoulli_tensor) == 0);
  CHECK_FAILS(bernoulli(coins.view(), 1.5, e), "[0, 1]");
  CHECK_FAILS(random_ints(order.view(), 3, 3, e), "from=3 >= to=3");
}

TEST("a state has PyTorch's bytes, brings a generator back, and is checked") {
  Mt19937 generator(7);
  Array<float> one({1}), many({700}), three({3});
  normal(one.view(), 0, 1, generator);
  uniform(many.view(), 0, 1, generator);
  std::vector<uint8_t> state(Mt19937::kStateBytes);
  generator.get_state(state.data());
  uint32_t hash = 0;
  for (uint8_t byte : state) hash = hash * 31 + byte;
  CHECK(hash == torch_values::state_hash);
  Mt19937 other(1);
  other.set_state(state.data(), state.size());
  CHECK(other.initial_seed() == 7);
  normal(one.view(), 0, 1, other);  // the second of the pair drawn before
  uniform(three.view(), 0, 1, other);
  CHECK(one[0] == float(torch_values::after_state[0]));
  for (int i = 0; i < 3; ++i) CHECK(double(three[i]) == torch_values::after_state[i + 1]);
  CHECK_FAILS(other.set_state(state.data(), 100), "wrong size");
  const int32_t bad_left = 5000;
  std::memcpy(state.data() + 8, &bad_left, 4);
  CHECK_FAILS(other.set_state(state.data(), state.size()), "Invalid mt19937 state");
}

TEST("philox numbers depend on seed and offset only and have the right moments") {
  const int64_t n = 200001;
  Array<float> a({n}), b({n}), tail({n - 100});
  philox_uniform(a.view(), -1.0, 3.0, 42, 0);
  philox_uniform(b.view(), -1.0, 3.0, 42, 0);
  CHECK(a.data == b.data);
  philox_uniform(tail.view(), -1.0, 3.0, 42, 50);
  CHECK(tail[0] == a[100] && tail[999] == a[1099]);
  CHECK(philox_blocks(a.view()) == uint64_t(n + 1) / 2);
  const auto moments = [&](double mean, double deviation) {
    double sum = 0, squares = 0;
    for (float x : a.data) sum += x, squares += double(x) * x;
    CHECK_NEAR(sum / n, mean, 0.02 * deviation);
    CHECK_NEAR(std::sqrt(squares / n - sum / n * sum / n), deviation, 0.02 * deviation);
  };
  moments(1.0, 4.0 / std::sqrt(12.0));
  bool inside = true;
  for (float x : a.data) inside &= x >= -1.0f && x < 3.0f;
  CHECK(inside);
  philox_normal(a.view(), 2.0, 0.5, 1, 0);
  moments(2.0, 0.5);
  philox_bernoulli(a.view(), 0.25, 1, 0);
  moments(0.25, std::sqrt(0.1875));
  Array<int64_t> ints({1000}), strided({2000}, int64_t(-9));
  philox_random(ints.view(), -3, 4, 5, 0);
  bool seen[7] = {}, in_range = true;
  for (int64_t x : ints.data) in_range &= x >= -3 && x < 4, seen[(x + 3) % 7] = true;
  CHECK(in_range && seen[0] && seen[3] && seen[6]);
  strided.sizes = {1000}, strided.strides = {2};
  philox_random(strided.view(), -3, 4, 5, 0);
  CHECK(strided.data[1998] == ints[999] && strided.data[1] == -9);
}

TEST("philox matches the published test vector") {
  // Random123's known answers for philox4x32-10 with counter 0 and key 0 begin 6627e8d5 e169c58d.
  Array<double> out({1});
  philox_uniform(out.view(), 0.0, 1.0, 0, 0);
  CHECK(out[0] == double((uint64_t(0x6627e8d5) << 32 | 0xe169c58d) >> 11) * 0x1p-53);
}
