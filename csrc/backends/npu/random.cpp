// The operator gets the generator's seed and offset.
#include "generated/npu/random.h"

#include "backends/npu/aclnn_call.h"
#include "base/limits.h"
#include "devices/counter_generator.h"

namespace mt::npu {

void uniform(const Tensor& self, double from, double to, Generator* generator) {
  MT_CHECK(from <= to, "uniform_ expects to return a [from, to) range, but found from=", from, " > to=", to);
  if (self.numel() == 0) return;
  const auto [seed, offset] = devices::take_numbers(generator, self);
  static aclnn::Function<decltype(aclnnInplaceUniformGetWorkspaceSize)> f("aclnnInplaceUniform");
  aclnn::call(f, self.device(), self, from, to, seed, offset);
}

void normal(const Tensor& self, double mean, double std, Generator* generator) {
  MT_CHECK(std >= 0, "normal expects std >= 0.0, but found std ", std);
  if (self.numel() == 0) return;
  const auto [seed, offset] = devices::take_numbers(generator, self);
  static aclnn::Function<decltype(aclnnInplaceNormalGetWorkspaceSize)> f("aclnnInplaceNormal");
  aclnn::call(f, self.device(), self, mean, std, seed, offset);
}

void bernoulli(const Tensor& self, double p, Generator* generator) {
  MT_CHECK(p >= 0 && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=", p);
  if (self.numel() == 0) return;
  const auto [seed, offset] = devices::take_numbers(generator, self);
  static aclnn::Function<decltype(aclnnInplaceBernoulliGetWorkspaceSize)> f("aclnnInplaceBernoulli");
  aclnn::call(f, self.device(), self, p, seed, offset);
}

void random_from(const Tensor& self, int64_t from, std::optional<int64_t> to, Generator* generator) {
  const int64_t end = to.value_or(end_of_integers(self.dtype()));
  MT_CHECK(from < end, "random_ expects 'from' to be less than 'to', but got from=", from, " >= to=", end);
  if (self.numel() == 0) return;
  const auto [seed, offset] = devices::take_numbers(generator, self);
  static aclnn::Function<decltype(aclnnInplaceRandomGetWorkspaceSize)> f("aclnnInplaceRandom");
  aclnn::call(f, self.device(), self, from, end, seed, offset);
}

void random_to(const Tensor& self, int64_t to, Generator* generator) { random_from(self, 0, to, generator); }
void random_full(const Tensor& self, Generator* generator) {
  if (self.numel() == 0) return;
  const auto [seed, offset] = devices::take_numbers(generator, self);
  static aclnn::Function<decltype(aclnnInplaceRandomWithoutFromToGetWorkspaceSize)> f(
      "aclnnInplaceRandomWithoutFromTo");
  aclnn::call(f, self.device(), self, seed, offset);
}

void exponential(const Tensor& self, double lambd, Generator* generator) {
  if (self.numel() == 0) return;
  const auto [seed, offset] = devices::take_numbers(generator, self);
  static aclnn::Function<decltype(aclnnSimThreadExponentialGetWorkspaceSize)> f("aclnnSimThreadExponential");
  aclnn::call(f, self.device(), self, self.numel(), lambd, seed, offset);
}

void bernoulli_tensor(const Tensor& self, const Tensor& p, Generator* generator) {
  if (self.numel() == 0) return;
  const auto [seed, offset] = devices::take_numbers(generator, self);
  static aclnn::Function<decltype(aclnnInplaceBernoulliTensorGetWorkspaceSize)> f(
      "aclnnInplaceBernoulliTensor");
  aclnn::call(f, self.device(), self, p, seed, offset);
}
void bernoulli_self(const Tensor& self, Generator* generator, const Tensor& out) {
  bernoulli_tensor(out, self, generator);
}
void bernoulli_p(const Tensor&, double p, Generator* generator, const Tensor& out) {
  bernoulli(out, p, generator);
}

void multinomial(const Tensor& self, int64_t samples, bool replacement, Generator* generator,
                 const Tensor& out) {
  if (out.numel() == 0) return;
  const auto [seed, offset] = devices::take_numbers(generator, out);
  static aclnn::Function<decltype(aclnnMultinomialGetWorkspaceSize)> f("aclnnMultinomial");
  aclnn::call(f, out.device(), self, samples, replacement, seed, offset, out);
}

void randperm(int64_t n, const Tensor& out, Generator* generator) {
  if (n == 0) return;
  const auto [seed, offset] = devices::take_numbers(generator, out);
  static aclnn::Function<decltype(aclnnRandpermGetWorkspaceSize)> f("aclnnRandperm");
  aclnn::call(f, out.device(), n, seed, offset, out);
}

}  // namespace mt::npu
