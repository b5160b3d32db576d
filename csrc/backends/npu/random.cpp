// The operator gets the generator's seed and offset; in a capture, one that reads them from the device does.
#include "generated/npu/random.h"

#include "backends/npu/aclnn_call.h"
#include "base/limits.h"
#include "devices/counter_generator.h"

namespace mt::npu {

using devices::Numbers;
using devices::take_numbers;

namespace {

void uniform(const Tensor& self, double from, double to, const Numbers& numbers) {
  if (numbers.captured()) {
    MT_ACLNN(aclnnInplaceUniformTensor);
    return aclnn::call(f, self.device(), self, from, to, numbers.seed_on_device, numbers.offset_on_device,
                       numbers.offset);
  }
  MT_ACLNN(aclnnInplaceUniform);
  aclnn::call(f, self.device(), self, from, to, numbers.seed, numbers.offset);
}

void sort_keys(const Tensor& keys, const Tensor& sorted, const Tensor& order) {
  MT_ACLNN(aclnnSort);
  aclnn::call(f, keys.device(), keys, false, int64_t(0), false, sorted, order);
}

// No operator draws truth values from a seed on the device: numbers are drawn and compared with the probability.
template <class Compare>
void captured_bernoulli(const Tensor& self, const Numbers& numbers, const Compare& is_below) {
  const Tensor drawn = new_tensor(self.sizes(), DType::float32, self.device());
  uniform(drawn, 0, 1, numbers);
  if (self.dtype() == DType::boolean) return is_below(drawn, self);
  const Tensor chosen = new_tensor(self.sizes(), DType::boolean, self.device());
  is_below(drawn, chosen);
  npu().copy_on_device(chosen, self);
}

// Nor does one permute by it: the order of large numbers that are drawn is a permutation.
void captured_randperm(const Tensor& out, const Numbers& numbers) {
  const Device device = out.device();
  const Tensor drawn = new_tensor(out.sizes(), DType::int64, device);
  MT_ACLNN(aclnnInplaceRandomTensor);
  aclnn::call(f, device, drawn, int64_t(0), INT64_MAX, numbers.seed_on_device, numbers.offset_on_device,
              numbers.offset);
  const Tensor sorted = new_tensor(out.sizes(), DType::int64, device);
  const Tensor order = out.dtype() == DType::int64 ? out : new_tensor(out.sizes(), DType::int64, device);
  sort_keys(drawn, sorted, order);
  if (!order.same(out)) npu().copy_on_device(order, out);
}

}  // namespace

void uniform(const Tensor& self, double from, double to, Generator* generator) {
  MT_CHECK(from <= to, "uniform_ expects to return a [from, to) range, but found from=", from, " > to=", to);
  if (self.numel() == 0) return;
  uniform(self, from, to, take_numbers(generator, self));
}

void normal(const Tensor& self, double mean, double std, Generator* generator) {
  MT_CHECK(std >= 0, "normal expects std >= 0.0, but found std ", std);
  if (self.numel() == 0) return;
  const Numbers numbers = take_numbers(generator, self);
  if (numbers.captured()) {
    MT_ACLNN(aclnnInplaceNormalTensor);
    return aclnn::call(f, self.device(), self, mean, std, numbers.seed_on_device, numbers.offset_on_device,
                       numbers.offset);
  }
  MT_ACLNN(aclnnInplaceNormal);
  aclnn::call(f, self.device(), self, mean, std, numbers.seed, numbers.offset);
}

void bernoulli(const Tensor& self, double p, Generator* generator) {
  MT_CHECK(p >= 0 && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=", p);
  if (self.numel() == 0) return;
  const Numbers numbers = take_numbers(generator, self);
  if (numbers.captured())
    return captured_bernoulli(self, numbers, [p](const Tensor& drawn, const Tensor& out) {
      MT_ACLNN(aclnnLtScalar);
      aclnn::call(f, out.device(), drawn, p, out);
    });
  MT_ACLNN(aclnnInplaceBernoulli);
  aclnn::call(f, self.device(), self, p, numbers.seed, numbers.offset);
}

void random_from(const Tensor& self, int64_t from, std::optional<int64_t> to, Generator* generator) {
  const int64_t end = to.value_or(end_of_integers(self.dtype()));
  MT_CHECK(from < end, "random_ expects 'from' to be less than 'to', but got from=", from, " >= to=", end);
  if (self.numel() == 0) return;
  const Numbers numbers = take_numbers(generator, self);
  if (numbers.captured()) {
    MT_ACLNN(aclnnInplaceRandomTensor);
    return aclnn::call(f, self.device(), self, from, end, numbers.seed_on_device, numbers.offset_on_device,
                       numbers.offset);
  }
  MT_ACLNN(aclnnInplaceRandom);
  aclnn::call(f, self.device(), self, from, end, numbers.seed, numbers.offset);
}

void random_to(const Tensor& self, int64_t to, Generator* generator) { random_from(self, 0, to, generator); }
void random_full(const Tensor& self, Generator* generator) {
  if (self.numel() == 0) return;
  const Numbers numbers = take_numbers(generator, self);
  if (numbers.captured()) {
    MT_ACLNN(aclnnInplaceRandomWithoutFromToTensor);
    return aclnn::call(f, self.device(), self, numbers.seed_on_device, numbers.offset_on_device,
                       numbers.offset);
  }
  MT_ACLNN(aclnnInplaceRandomWithoutFromTo);
  aclnn::call(f, self.device(), self, numbers.seed, numbers.offset);
}

void exponential(const Tensor& self, double lambd, Generator* generator) {
  if (self.numel() == 0) return;
  const Numbers numbers = take_numbers(generator, self);
  if (numbers.captured()) {
    MT_ACLNN(aclnnStatelessExponentialTensor);
    return aclnn::call(f, self.device(), self, numbers.seed_on_device, numbers.offset_on_device,
                       numbers.offset, lambd);
  }
  MT_ACLNN(aclnnSimThreadExponential);
  aclnn::call(f, self.device(), self, self.numel(), lambd, numbers.seed, numbers.offset);
}

void bernoulli_tensor(const Tensor& self, const Tensor& p, Generator* generator) {
  if (self.numel() == 0) return;
  const Numbers numbers = take_numbers(generator, self);
  if (numbers.captured())
    return captured_bernoulli(self, numbers, [&p](const Tensor& drawn, const Tensor& out) {
      MT_ACLNN(aclnnLtTensor);
      aclnn::call(f, out.device(), drawn, p, out);
    });
  MT_ACLNN(aclnnInplaceBernoulliTensor);
  aclnn::call(f, self.device(), self, p, numbers.seed, numbers.offset);
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
  const Numbers numbers = take_numbers(generator, out);
  if (numbers.captured()) {
    MT_ACLNN(aclnnMultinomialTensor);
    return aclnn::call(f, out.device(), self, samples, replacement, numbers.seed_on_device,
                       numbers.offset_on_device, numbers.offset, out);
  }
  MT_ACLNN(aclnnMultinomial);
  aclnn::call(f, out.device(), self, samples, replacement, numbers.seed, numbers.offset, out);
}

void randperm(int64_t n, const Tensor& out, Generator* generator) {
  if (n == 0) return;
  const Numbers numbers = take_numbers(generator, out);
  if (numbers.captured()) return captured_randperm(out, numbers);
  MT_ACLNN(aclnnRandperm);
  aclnn::call(f, out.device(), n, numbers.seed, numbers.offset, out);
}

}  // namespace mt::npu
