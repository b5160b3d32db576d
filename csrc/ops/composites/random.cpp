// Random tensors in terms of the fills.
#include "generated/ops/composites/random.h"

#include "core/transform.h"
#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/random.h"
#include "generated/ops/reduce.h"
#include "generated/ops/view.h"

namespace mt::composites {
namespace {

// Every number of a permutation must have a value of its own in the dtype.
void check_room(DType dtype, int64_t n) {
  const auto limit = [&](int64_t most, const char* text) {
    MT_CHECK(n <= most, "n cannot be greater than ", text, " for ", info(dtype).legacy, " type.");
  };
  switch (dtype) {
    case DType::float64: return limit((int64_t(1) << 53) + 1, "2^53+1");
    case DType::float32: return limit((int64_t(1) << 24) + 1, "2^24+1");
    case DType::float16: return limit((int64_t(1) << 11) + 1, "2049");
    case DType::bfloat16: return limit((int64_t(1) << 8) + 1, "257");
    default:
      MT_CHECK(n == 0 || fits(Scalar(n - 1), dtype), "value cannot be converted to type ",
               is_integral(dtype, false) ? join_text(info(dtype).name, "_t") : c_name(dtype),
               " without overflow");
  }
}

void check_std(const Tensor& given) {
  const Tensor& std = of_all_slices(given);
  MT_CHECK(!is_complex(std.dtype()), "normal expects standard deviation to be non-complex");
  if (std.device().is_meta() || std.numel() == 0) return;
  MT_CHECK(item(ops::all(ops::ge(std, 0), DimList(), false)).to<bool>(),
           "normal expects all elements of std >= 0.0");
}

}  // namespace

// The results start as their parameters and are drawn over: gradients flow, and are zero, as in PyTorch.
Tensor normal(const Tensor& mean, double std, Generator* generator) {
  Tensor out = ops::clone(mean, MemoryFormat::contiguous);
  ops::normal_(out, 0, std, generator);
  ops::add_(out, ops::detach(mean));
  return out;
}

Tensor normal(double mean, const Tensor& std, Generator* generator) {
  check_std(std);
  Tensor out = ops::clone(std, MemoryFormat::contiguous);
  ops::normal_(out, 0, 1, generator);
  ops::add_(ops::mul_(out, ops::detach(std)), mean);
  return out;
}

Tensor normal(const Tensor& mean, const Tensor& std, Generator* generator) {
  check_std(std);
  Tensor out = ops::contiguous(ops::add(mean, ops::to(std, mean.dtype())));
  ops::normal_(out, 0, 1, generator);
  ops::add_(ops::mul_(out, ops::detach(std)), ops::detach(mean));
  return out;
}

Tensor normal(double mean, double std, IntList size, Generator* generator, const TensorOptions& options) {
  Tensor out = ops::empty(size, std::nullopt, options);
  ops::normal_(out, mean, std, generator);
  return out;
}

Tensor randperm(int64_t n, Generator* generator, const TensorOptions& options) {
  MT_CHECK(n >= 0, "n must be non-negative, got", n);
  TensorOptions made = options;
  made.dtype = options.dtype.value_or(DType::int64);
  check_room(*made.dtype, n);
  Tensor out = ops::empty(IntList(&n, 1), std::nullopt, made);
  ops::_randperm(n, out, generator);
  return out;
}

}  // namespace mt::composites
