#include "generated/infer/random.h"

#include "core/views.h"
#include "core/warn.h"

namespace mt::infer {
namespace {

// Floating types hold every integer up to 2 to the number of their digits.
int digits_of(DType dtype) {
  switch (dtype) {
    case DType::float64: return 53;
    case DType::float32: return 24;
    case DType::float16: return 11;
    case DType::bfloat16: return 8;
    default: return 63;
  }
}

void check_discrete_range(DType dtype, int64_t from, std::optional<int64_t> to) {
  const int digits = digits_of(dtype);
  if (digits == 63) return;
  auto check = [&](const char* name, int64_t value) {
    MT_CHECK(dtype != DType::float16 || (value >= -65504 && value <= 65504), name, " is out of bounds for ",
             c_name(dtype));
    if (value < -(int64_t(1) << digits) || value > int64_t(1) << digits)
      warn(join_text(
          name, " is out of bounds [-(2^", digits, "), 2^", digits, "]. Due to precision limitations ",
          c_name(dtype),
          " can support discrete uniform distribution only within this range. This warning will become "
          "an error in version 1.7 release, please fix the code in advance"));
  };
  check("from", from);
  if (to) check("to - 1", *to - 1);
}

}  // namespace

void check_random_range(const Tensor& self, int64_t from, std::optional<int64_t> to, Generator*) {
  MT_CHECK(!to || from < *to, "random_ expects 'from' to be less than 'to', but got from=", from,
           " >= to=", to.value_or(0));
  if (!is_integral(self.dtype(), true)) return check_discrete_range(self.dtype(), from, to);
  auto outside = [&](int64_t v) {
    if (self.dtype() == DType::boolean) return v < 0 || v > 1;
    return v < 0 ? !info(self.dtype()).is_signed : !fits(Scalar(v), self.dtype());
  };
  MT_CHECK(!outside(from), "from is out of bounds for ", c_name(self.dtype()));
  MT_CHECK(!to || !outside(*to - 1), "to - 1 is out of bounds for ", c_name(self.dtype()));
}

// A draw per element: the input's shape and dtype.
void drawn_like(const Tensor& self, Generator*, Output& out) {
  out.prepare(self.sizes(), self.dtype(), self.device());
}
// Zeros and ones, which any dtype of out= holds.
void bernoulli(const Tensor& self, Generator*, Output& out) {
  out.prepare(self.sizes(), out.dtype_or(self.dtype()), self.device());
}
void drawn_like(const Tensor& self, double p, Generator* generator, Output& out) {
  MT_CHECK(p >= 0 && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=", p);
  drawn_like(self, generator, out);
}

void binomial(const Tensor& count, const Tensor& prob, Generator*, Output& out) {
  check_same_device({&count, &prob});
  MT_CHECK_AS(value, is_floating(count.dtype()),
              "binomial only supports floating-point dtypes for count, got: ", info(count.dtype()).legacy);
  MT_CHECK_AS(value, is_floating(prob.dtype()),
              "binomial only supports floating-point dtypes for prob, got: ", info(prob.dtype()).legacy);
  MT_CHECK(count.dtype() == prob.dtype(), "Found dtype ", info(prob.dtype()).legacy, " but expected ",
           info(count.dtype()).legacy);
  out.prepare(broadcast(count.sizes(), prob.sizes()), count.dtype(), count.device());
}

void standard_gamma_grad(const Tensor& self, const Tensor& output, Output& out) {
  check_same_device({&self, &output});
  MT_CHECK(self.dtype() == output.dtype(), "Found dtype ", info(output.dtype()).legacy, " but expected ",
           info(self.dtype()).legacy);
  out.prepare(broadcast(self.sizes(), output.sizes()), self.dtype(), self.device());
}

void dirichlet_grad(const Tensor& x, const Tensor& alpha, const Tensor& total, Output& out) {
  check_same_device({&x, &alpha, &total});
  for (const Tensor* other : {&alpha, &total})
    MT_CHECK(x.dtype() == other->dtype(), "Found dtype ", info(other->dtype()).legacy, " but expected ",
             info(x.dtype()).legacy);
  out.prepare(broadcast(broadcast(x.sizes(), alpha.sizes()), total.sizes()), x.dtype(), x.device());
}

void multinomial(const Tensor& self, int64_t num_samples, bool replacement, Generator*, Output& out) {
  MT_CHECK(self.dim() == 1 || self.dim() == 2, "prob_dist must be 1 or 2 dim");
  MT_CHECK(is_floating(self.dtype()),
           "multinomial only supports floating-point dtypes for input, got: ", info(self.dtype()).legacy);
  MT_CHECK(num_samples > 0, "cannot sample n_sample <= 0 samples");
  const int64_t categories = self.sizes().back();
  MT_CHECK(replacement || num_samples <= categories,
           "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
  MT_CHECK(categories > 0, "multinomial: there are no categories to sample from");
  MT_CHECK(categories <= int64_t(1) << 24, "number of categories cannot exceed 2^24");
  Dims sizes;
  if (self.dim() == 2) sizes.push_back(self.sizes()[0]);
  sizes.push_back(num_samples);
  out.prepare(sizes, DType::int64, self.device());
}

void check_probabilities(const Tensor& self, const Tensor& p, Generator*) {
  check_same_device({&self, &p});
  views::expand(p, self.sizes(), false);  // refuses shapes that do not fit
}

void check_random_end(const Tensor& self, int64_t to, Generator* generator) {
  check_random_range(self, 0, to, generator);
}

void check_exponential(const Tensor& self, double lambd, Generator*) {
  MT_CHECK(is_floating(self.dtype()),
           "Exponential distribution is a continuous probability distribution. dtype must be a floating "
           "point but you "
           "specified ",
           info(self.dtype()).legacy);
  MT_CHECK(lambd > 0, "exponential_ expects lambda > 0.0, but found lambda=", lambd);
}

void check_cauchy(const Tensor& self, double, double sigma, Generator*) {
  MT_CHECK(
      is_floating(self.dtype()),
      "Cauchy distribution is a continuous probability distribution. dtype must be a floating point but you "
      "specified ",
      c_name(self.dtype()));
  MT_CHECK(sigma > 0, "cauchy_ expects sigma > 0.0, but found sigma=", sigma);
}

}  // namespace mt::infer
