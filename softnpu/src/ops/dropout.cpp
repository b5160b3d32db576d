// Dropout: the masks, and what they do.
#include "kernels/dropout/dropout.h"

#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/functors.h"
#include "kernels/random/random.h"
#include "op_plans.h"
#include "ops/common/arguments.h"
#include "ops/common/random_key.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

void require_probability(const Plan& plan, double p, const char* name) {
  if (!(p >= 0 && p <= 1)) plan.invalid(name, " is ", p, ", wanted 0 to 1");
}
int64_t mask_bytes(int64_t count) { return (count + 127) / 128 * 16; }

// A mask has a bit for each element, in whole blocks of 128.
void require_bits(const Plan& plan, const Operand& mask, const char* name, int64_t count) {
  plan.require_dtype(mask, name, k::dtype_set(DType::uint8));
  if (mask.numel() < mask_bytes(count))
    plan.invalid("tensor '", name, "' has ", mask.numel(), " bytes, wanted ", mask_bytes(count),
                 " for the bits of ", count, " elements");
}

int64_t count_of(const Plan& plan, const aclIntArray* shape) {
  int64_t count = 1;
  for (const int64_t size : int_list(plan, shape, "shape")) {
    if (size < 0) plan.invalid("'shape' holds ", size);
    if (__builtin_mul_overflow(count, size, &count)) plan.invalid("'shape' overflows 64 bits");
  }
  return count;
}

// The seed and the offset, which may lie in tensors.
struct Seed {
  std::optional<Operand> seed_tensor, offset_tensor;
  int64_t seed = 0, offset = 0;

  static Seed of(int64_t seed, int64_t offset) { return {std::nullopt, std::nullopt, seed, offset}; }
  static Seed of(Plan& plan, const aclTensor* seed, const aclTensor* offset, int64_t more) {
    const Operand first = plan.input(seed, "seedTensor"), second = plan.input(offset, "offsetTensor");
    for (const auto& [operand, name] :
         {std::pair{&first, "seedTensor"}, std::pair{&second, "offsetTensor"}}) {
      plan.require_dtype(*operand, name, domains::integral);
      if (operand->numel() != 1)
        plan.invalid("tensor '", name, "' has shape ", shape_text(*operand), ", wanted one element");
    }
    return {first, second, 0, more};
  }
  uint64_t key(const aclOpExecutor& e) const {
    const auto number = [&](const std::optional<Operand>& tensor) {
      return tensor ? k::DenseInput<int64_t>(tensor->view(e))[0] : 0;
    };
    return random_key(uint64_t(seed + number(seed_tensor)), uint64_t(offset + number(offset_tensor)));
  }
};

void generate_mask(Plan& plan, const aclIntArray* shape, double prob, const Seed& seed,
                   const aclTensor* out) {
  const int64_t count = count_of(plan, shape);
  const Operand mask = plan.output(out, "out");
  require_probability(plan, prob, "prob");
  require_bits(plan, mask, "out", count);
  plan.run([=](const aclOpExecutor& e) {
    const k::Dense bits(mask.view(e), DType::uint8, k::Access::write);
    k::dropout_bits(bits.view(), count, prob, seed.key(e));
    bits.store();
  });
}

void apply_mask(Plan& plan, const aclTensor* self, const aclTensor* mask, double prob, const aclTensor* out) {
  const Operand in = plan.input(self, "self"), bits = plan.input(mask, "mask"), to = plan.output(out, "out");
  plan.require_dtype(in, "self", domains::floating);
  plan.require_same_shape(in, "self", to, "out");
  require_probability(plan, prob, "prob");
  require_bits(plan, bits, "mask", in.numel());
  plan.run([=](const aclOpExecutor& e) { k::dropout_by_bits(in.view(e), bits.view(e), prob, to.view(e)); });
}

void dropout(Plan& plan, const Operand& in, const Operand& to, const Operand& mask, double p,
             const Seed& seed) {
  plan.require_dtype(in, "input", domains::floating);
  plan.require_same_shape(in, "input", to, "out");
  require_probability(plan, p, "p");
  require_bits(plan, mask, "maskOut", in.numel());
  plan.run([=](const aclOpExecutor& e) {
    const k::Dense bits(mask.view(e), DType::uint8, k::Access::write);
    k::dropout_bits(bits.view(), in.numel(), p, seed.key(e));
    k::dropout_by_bits(in.view(e), bits.view(), p, to.view(e));
    bits.store();
  });
}

}  // namespace

void DropoutGenMask(Plan& plan, const aclIntArray* shape, double prob, int64_t seed, int64_t offset,
                    aclTensor* out) {
  generate_mask(plan, shape, prob, Seed::of(seed, offset), out);
}
// The dtype says in which precision a card compares random numbers with the probability.
void DropoutGenMaskV2(Plan& plan, const aclIntArray* shape, double prob, int64_t seed, int64_t offset,
                      aclDataType probDataType, aclTensor* out) {
  plan.dtype(probDataType, "probDataType");
  generate_mask(plan, shape, prob, Seed::of(seed, offset), out);
}
void DropoutGenMaskV2Tensor(Plan& plan, const aclIntArray* shape, double prob, const aclTensor* seedTensor,
                            const aclTensor* offsetTensor, int64_t offset, aclDataType probDataType,
                            aclTensor* out) {
  plan.dtype(probDataType, "probDataType");
  const Seed seed = Seed::of(plan, seedTensor, offsetTensor, offset);
  generate_mask(plan, shape, prob, seed, out);
}
void DropoutDoMask(Plan& plan, const aclTensor* self, const aclTensor* mask, double prob, aclTensor* out) {
  apply_mask(plan, self, mask, prob, out);
}
void DropoutV3(Plan& plan, const aclTensor* input, const aclTensor* optionalNoiseShape, double p,
               int64_t seed, int64_t offset, aclTensor* out, aclTensor* maskOut) {
  const Operand in = plan.input(input, "input");
  if (unless_empty(plan.optional_input(optionalNoiseShape, "optionalNoiseShape")))
    plan.invalid("optionalNoiseShape is not supported, as on the card");
  const Operand to = plan.output(out, "out"), mask = plan.output(maskOut, "maskOut");
  dropout(plan, in, to, mask, p, Seed::of(seed, offset));
}
void DropoutV3Tensor(Plan& plan, const aclTensor* input, const aclTensor* optionalNoiseShapeTensor, double p,
                     const aclTensor* seedTensor, const aclTensor* offsetTensor, int64_t offset,
                     aclTensor* out, aclTensor* maskOut) {
  const Operand in = plan.input(input, "input");
  if (unless_empty(plan.optional_input(optionalNoiseShapeTensor, "optionalNoiseShapeTensor")))
    plan.invalid("optionalNoiseShapeTensor is not supported, as on the card");
  const Seed seed = Seed::of(plan, seedTensor, offsetTensor, offset);
  const Operand to = plan.output(out, "out"), mask = plan.output(maskOut, "maskOut");
  dropout(plan, in, to, mask, p, seed);
}
// scale is 1 / (1 - p).
void DropoutV3Grad(Plan& plan, const aclTensor* gradY, const aclTensor* mask, double scale,
                   aclTensor* gradX) {
  if (!(scale == 0 || scale >= 1)) plan.invalid("scale is ", scale, ", wanted 0 or at least 1");
  apply_mask(plan, gradY, mask, scale == 0 ? 1 : 1 - 1 / scale, gradX);
}

// Here the mask has a bit for each element as well; in evaluation everything is kept.
void Dropout(Plan& plan, const aclTensor* input, double p, bool train, int64_t seed, int64_t offset,
             aclTensor* out, aclTensor* maskOut) {
  const Operand in = plan.input(input, "input"), to = plan.output(out, "out"),
                mask = plan.output(maskOut, "maskOut");
  dropout(plan, in, to, mask, train ? p : 0, Seed::of(seed, offset));
}
void DropoutBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* mask, double scale,
                     aclTensor* out) {
  if (!(scale == 0 || scale >= 1)) plan.invalid("scale is ", scale, ", wanted 0 or at least 1");
  apply_mask(plan, gradOutput, mask, scale == 0 ? 1 : 1 - 1 / scale, out);
}

}  // namespace softnpu::ops
