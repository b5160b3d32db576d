// The numbers of a seed are PyTorch's on a GPU: the grid and how far the generator moves on are part of them
// (device/random.h).
#include "generated/cuda/random.h"

#include <cmath>

#include "backends/cuda/dense.h"
#include "backends/cuda/program.h"
#include "base/limits.h"
#include "core/views.h"
#include "devices/counter_generator.h"
#include "kernels/common/types.h"

namespace mt::cuda {
namespace {

namespace domains = kernels::domains;
constexpr int64_t kThreads = 256;
constexpr uint64_t kWideRange = uint64_t(1) << 28;  // from here on a number takes 64 bits

template <class Call>
void set_numbers(Call& call, const devices::Numbers& numbers) {
  call.seed = numbers.seed;
  call.offset = numbers.offset;
  if (!numbers.captured()) return;
  call.seed_at = static_cast<const long long*>(numbers.seed_on_device.data());
  call.offset_at = static_cast<const long long*>(numbers.offset_on_device.data());
}

// Drawn in device/random.h.
#define MT_DRAWN(X) \
  X(uniform)        \
  X(normal)         \
  X(log_normal)     \
  X(exponential) X(cauchy) X(geometric) X(chance) X(in_range) X(in_wide_range) X(any_bits) X(any_number)
enum class Drawn {
#define X(name) name,
  MT_DRAWN(X)
#undef X
};
constexpr const char* kDrawnNames[] = {
#define X(name) #name,
    MT_DRAWN(X)
#undef X
};

struct Drawing {
  Drawn what;
  kernels::DTypeSet domain;
  bool wide;  // two numbers a turn instead of four
  double first = 0, second = 0;
  uint64_t range = 0;
  int64_t base = 0;
};

void draw(const Drawing& drawing, const char* name, const Tensor& out, Generator* generator) {
  if (!kernels::contains(drawing.domain, out.dtype())) kernels::fail_unsupported(name, out.dtype());
  if (out.numel() == 0) return;
  const Place place(out);
  static Variants variants;
  const Loaded& program = find_program(variants, key_of({int(drawing.what), int(out.dtype())}), place,
                                       "random.h", 1, [&]() -> std::vector<FamilyKernel> {
                                         return {{join_text("random_filled<", type_text(out.dtype()),
                                                            ", Drawn::", kDrawnNames[int(drawing.what)], ">"),
                                                  "RandomCall"}};
                                       });
  const int64_t most = int64_t(driver().attribute(place.index(), kProcessors)) *
                       (driver().attribute(place.index(), kThreadsPerProcessor) / kThreads);
  const int64_t grid = std::min((out.numel() + kThreads - 1) / kThreads, most);
  const int64_t each_turn = kThreads * grid * (drawing.wide ? 2 : 4);
  const uint64_t turns = uint64_t((out.numel() + each_turn - 1) / each_turn);

  RandomCall call{};
  call.walk = walk_of({{out, call.out}});
  set_numbers(call, devices::take_numbers(generator, out.device(), 4 * turns));
  call.first = drawing.first;
  call.second = drawing.second;
  call.range = drawing.range;
  call.base = drawing.base;
  launch_with(program.entries[0], name, place.index(), {unsigned(grid)}, {unsigned(kThreads)}, 0, call);
}

bool is_double(const Tensor& t) { return t.dtype() == DType::float64; }

// A complex tensor is filled as pairs of real numbers.
Tensor real_parts(const Tensor& t) { return is_complex(t.dtype()) ? views::view_as_real(t) : t; }

void check_bounds(const Tensor& self, double from, double to) {
  MT_CHECK(from <= to, "uniform_ expects to return a [from, to) range, but found from=", from, " > to=", to);
  const double most = largest_finite(self.dtype());
  MT_CHECK(from >= -most && from <= most, "from is out of bounds for ", info(self.dtype()).legacy);
  MT_CHECK(to >= -most && to <= most, "to is out of bounds for ", info(self.dtype()).legacy);
  MT_CHECK(to - from <= most, "uniform_ expects to-from <= ", most, ", the largest ",
           info(self.dtype()).legacy, ", but found to=", to, " and from=", from,
           " which result in to-from to exceed the limit");
}

// Draws for each chance. A thread takes four neighbours; the offset moves on by 10, rounded up to whole turns.
void draw_chances(const Tensor& chances, const Tensor& out, Generator* generator) {
  if (!kernels::contains(domains::ordered, out.dtype())) kernels::fail_unsupported("bernoulli", out.dtype());
  if (out.numel() == 0) return;
  const Place place(out);
  static Variants variants;
  const Loaded& program = find_program(
      variants, key_of({int(out.dtype())}), place, "random.h", 1, [&]() -> std::vector<FamilyKernel> {
        return {{join_text("chances_drawn<", type_text(out.dtype()), ">"), "ChancesCall", 512}};
      });
  const Tensor given =
      dense(views::expand(chances, out.sizes(), false), is_double(out) ? DType::float64 : DType::float32);
  into_dense(out, [&](const Tensor& made) {
    ChancesCall call{};
    call.chances = memory(given);
    call.out = memory(made);
    call.count = made.numel();
    set_numbers(call, devices::take_numbers(generator, out.device(), 12));
    launch_with(program.entries[0], "bernoulli", place.index(), {blocks_for(call.count, 4 * 512)}, {512}, 0,
                call);
  });
}

}  // namespace

void uniform(const Tensor& self, double from, double to, Generator* generator) {
  const Tensor parts = real_parts(self);
  check_bounds(parts, from, to);
  draw({Drawn::uniform, domains::floating, is_double(parts), from, to}, "uniform_", parts, generator);
}

void normal(const Tensor& self, double mean, double std, Generator* generator) {
  MT_CHECK(std >= 0, "normal expects std >= 0.0, but found std ", std);
  const Tensor parts = real_parts(self);
  const double deviation =
      is_complex(self.dtype()) ? std / std::sqrt(2.0) : std;  // each has half the variance
  draw({Drawn::normal, domains::floating, is_double(parts), mean, deviation}, "normal_", parts, generator);
}

void log_normal(const Tensor& self, double mean, double std, Generator* generator) {
  MT_CHECK(std > 0, "log_normal_ expects std > 0.0, but found std=", std);
  draw({Drawn::log_normal, domains::floating, is_double(self), mean, std}, "log_normal_", self, generator);
}

void exponential(const Tensor& self, double lambd, Generator* generator) {
  draw({Drawn::exponential, domains::floating, is_double(self), lambd}, "exponential_", self, generator);
}

void cauchy(const Tensor& self, double median, double sigma, Generator* generator) {
  draw({Drawn::cauchy, domains::floating, is_double(self), median, sigma}, "cauchy_", self, generator);
}

void geometric(const Tensor& self, double p, Generator* generator) {
  MT_CHECK(p > 0 && p < 1, "geometric_ expects p to be in (0, 1), but got p=", p);
  draw({Drawn::geometric, domains::real, is_double(self), p}, "geometric_", self, generator);
}

void bernoulli(const Tensor& self, double p, Generator* generator) {
  MT_CHECK(p >= 0 && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=", p);
  draw({Drawn::chance, domains::ordered, is_double(self), p}, "bernoulli_", self, generator);
}
void bernoulli_p(const Tensor&, double p, Generator* generator, const Tensor& out) {
  bernoulli(out, p, generator);
}

void bernoulli_tensor(const Tensor& self, const Tensor& p, Generator* generator) {
  draw_chances(p, self, generator);
}
void bernoulli_self(const Tensor& self, Generator* generator, const Tensor& out) {
  draw_chances(self, out, generator);
}

void random_from(const Tensor& self, int64_t from, std::optional<int64_t> to, Generator* generator) {
  MT_CHECK(!to || from < *to, "random_ expects 'from' to be less than 'to', but got from=", from,
           " >= to=", to.value_or(0));
  // Up to the largest number that the dtype holds, which for int64 has none after it.
  const uint64_t end = to                             ? uint64_t(*to)
                       : self.dtype() == DType::int64 ? uint64_t(1) << 63
                                                      : uint64_t(end_of_integers(self.dtype()));
  const uint64_t range = end - uint64_t(from);
  if (range == 0) return draw({Drawn::any_bits, domains::ordered, true}, "random_", self, generator);
  if (range < kWideRange)
    return draw({Drawn::in_range, domains::ordered, false, 0, 0, range, from}, "random_", self, generator);
  draw({Drawn::in_wide_range, domains::ordered, true, 0, 0, range, from}, "random_", self, generator);
}
void random_to(const Tensor& self, int64_t to, Generator* generator) { random_from(self, 0, to, generator); }
void random_full(const Tensor& self, Generator* generator) {
  draw({Drawn::any_number, domains::ordered, is_double(self) || self.dtype() == DType::int64}, "random_",
       self, generator);
}

}  // namespace mt::cuda
