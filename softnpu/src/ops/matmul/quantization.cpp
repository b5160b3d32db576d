// Numbers to small integers and back, and products of such.
#include "kernels/common/copy.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/functors.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/quantized.h"
#include "op_plans.h"
#include "ops/common/temporary.h"
#include "ops/common/views.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

constexpr DTypeSet kSmall = k::dtype_set(DType::int8, DType::uint8, DType::int32);

// One element for all, one for each entry along an axis, or a shape that broadcasts.
Operand along_axis(const Plan& plan, const Operand& scale, const char* name, const Operand& x, int axis) {
  if (scale.ndim == 1 && x.ndim > 0 && scale.sizes[0] == x.sizes[axis]) {
    Operand result = x;
    result.offset = scale.offset, result.slot = scale.slot, result.dtype = scale.dtype;
    for (int i = 0; i < x.ndim; ++i) result.strides[i] = i == axis ? scale.strides[0] : 0;
    return result;
  }
  return broadcast_to(plan, scale.numel() == 1 ? single_element(plan, scale, name) : scale, name, x);
}

k::Rounding rounding_of(const Plan& plan, const char* mode) {
  const std::string_view name = mode == nullptr ? "round" : mode;
  if (name == "round") return k::Rounding::nearest_even;
  if (name == "floor") return k::Rounding::floor;
  if (name == "ceil") return k::Rounding::ceil;
  if (name == "trunc") return k::Rounding::trunc;
  plan.invalid("roundMode is '", name, "', wanted 'round', 'floor', 'ceil' or 'trunc'");
}

void require_dst(const Plan& plan, int64_t dstType, const Operand& out) {
  if (plan.dtype(aclDataType(dstType), "dstType") != out.dtype)
    plan.invalid("dstType is ", dstType, " but the result is ", mt::info(out.dtype).name);
}

struct Quantizing {
  bool divide = false, squared = false;
  k::Rounding rounding = k::Rounding::nearest_even;
};

void quantize(Plan& plan, const Operand& x, const Operand& scale, const std::optional<Operand>& offset,
              const Operand& to, const Quantizing& how) {
  plan.require_dtype(x, "x", domains::floating);
  plan.require_dtype(to, "y", kSmall);
  plan.require_same_shape(to, "y", x, "x");
  plan.run([=](const aclOpExecutor& e) {
    const ReadAs in(x.view(e), DType::float32, false), by(scale.view(e), DType::float32, false);
    std::optional<ReadAs> shift;
    if (offset) shift.emplace(offset->view(e), DType::float32, false);
    std::optional<Temporary> square;
    if (how.squared) {
      square.emplace(by.view(), DType::float32);
      k::binary<k::mul_op>(by.view(), by.view(), square->view(), DType::float32);
    }
    k::quantize(in.view(), square ? square->view() : by.view(), shift ? &shift->view() : nullptr, to.view(e),
                how.divide, how.rounding);
  });
}

void ascend_quant(Plan& plan, const aclTensor* x, const aclTensor* scale, const aclTensor* offset,
                  bool sqrtMode, const char* roundMode, int32_t dstType, int64_t axis, const aclTensor* y) {
  const Operand in = plan.input(x, "x"), by = plan.input(scale, "scale");
  const std::optional<Operand> shift = plan.optional_input(offset, "offset");
  const Operand to = plan.output(y, "y");
  require_dst(plan, dstType, to);
  const int along = plan.dim(axis, in);
  std::optional<Operand> spread;
  if (shift) spread = along_axis(plan, *shift, "offset", in, along);
  quantize(plan, in, along_axis(plan, by, "scale", in, along), spread, to,
           {false, sqrtMode, rounding_of(plan, roundMode)});
}

}  // namespace

void AscendQuant(Plan& plan, const aclTensor* x, const aclTensor* scale, const aclTensor* offset,
                 bool sqrtMode, const char* roundMode, int32_t dstType, const aclTensor* y) {
  ascend_quant(plan, x, scale, offset, sqrtMode, roundMode, dstType, -1, y);
}
void AscendQuantV3(Plan& plan, const aclTensor* x, const aclTensor* scale, const aclTensor* offset,
                   bool sqrtMode, const char* roundMode, int32_t dstType, int32_t axis, const aclTensor* y) {
  ascend_quant(plan, x, scale, offset, sqrtMode, roundMode, dstType, axis, y);
}

void Quantize(Plan& plan, const aclTensor* x, const aclTensor* scales, const aclTensor* zeroPoints,
              aclDataType dtype, int32_t axis, aclTensor* out) {
  const Operand in = plan.input(x, "x"), by = plan.input(scales, "scales");
  const std::optional<Operand> zero = plan.optional_input(zeroPoints, "zeroPoints");
  const Operand to = plan.output(out, "out");
  require_dst(plan, dtype, to);
  const int along = plan.dim(axis, in);
  std::optional<Operand> spread;
  if (zero) spread = along_axis(plan, *zero, "zeroPoints", in, along);
  quantize(plan, in, along_axis(plan, by, "scales", in, along), spread, to,
           {true, false, k::Rounding::nearest_even});
}

void AscendAntiQuant(Plan& plan, const aclTensor* x, const aclTensor* scale, const aclTensor* offset,
                     int64_t dstType, bool sqrtMode, const aclTensor* y) {
  const Operand in = plan.input(x, "x"), by = plan.input(scale, "scale");
  const std::optional<Operand> shift = plan.optional_input(offset, "offset");
  const Operand to = plan.output(y, "y");
  require_dst(plan, dstType, to);
  plan.require_dtype(in, "x", k::dtype_set(DType::int8));
  plan.require_dtype(to, "y", domains::floating);
  plan.require_same_shape(to, "y", in, "x");
  const int last = std::max(in.ndim - 1, 0);
  const Operand factor = along_axis(plan, by, "scale", in, last);
  std::optional<Operand> added;
  if (shift) added = along_axis(plan, *shift, "offset", in, last);
  plan.run([=](const aclOpExecutor& e) {
    const View from = in.view(e);
    const Temporary work(from, DType::float32);
    const Scalar one(1);
    k::copy(from, work.view());
    if (added) k::binary<k::add_op>(work.view(), added->view(e), work.view(), DType::float32, &one);
    for (int i = 0; i < (sqrtMode ? 2 : 1); ++i)
      k::binary<k::mul_op>(work.view(), factor.view(e), work.view(), DType::float32);
    k::copy(work.view(), to.view(e));
  });
}

namespace {

// One scale for each row along the last dimension, after the columns have been smoothed.
void dynamic_quant(Plan& plan, const aclTensor* x, const aclTensor* smooth, const aclTensor* groups,
                   std::optional<int64_t> dstType, bool symmetrical, const aclTensor* y,
                   const aclTensor* scale, const aclTensor* offset, bool has_offset) {
  const Operand in = plan.input(x, "x");
  const std::optional<Operand> smoothing = plan.optional_input(smooth, "smoothScalesOptional");
  if (groups != nullptr) plan.invalid("'groupIndexOptional' is not supported, wanted NULL");
  const Operand to = plan.output(y, "yOut"), factors = plan.output(scale, "scaleOut");
  std::optional<Operand> shifts;
  if (has_offset && !symmetrical) shifts = plan.output(offset, "offsetOut");
  if (dstType) require_dst(plan, *dstType, to);
  plan.require_dtype(in, "x", domains::floating);
  plan.require_dtype(to, "yOut", k::dtype_set(DType::int8));
  plan.require_same_shape(to, "yOut", in, "x");
  if (in.ndim < 1) plan.invalid("tensor 'x' is a scalar, wanted rows");
  const std::vector<int64_t> rows(in.sizes, in.sizes + in.ndim - 1);
  plan.require_shape(factors, "scaleOut", rows);
  plan.require_dtype(factors, "scaleOut", k::dtype_set(DType::float32));
  if (shifts) plan.require_shape(*shifts, "offsetOut", rows);
  if (smoothing) plan.require_broadcast(*smoothing, "smoothScalesOptional", in);
  plan.run([=](const aclOpExecutor& e) {
    const ReadAs from(in.view(e), DType::float32);
    std::optional<Temporary> smoothed;
    if (smoothing) {
      smoothed.emplace(from.view(), DType::float32);
      k::binary<k::mul_op>(from.view(), smoothing->view(e), smoothed->view(), DType::float32);
    }
    const int64_t columns = in.sizes[in.ndim - 1], count = columns == 0 ? 0 : in.numel() / columns;
    const int64_t sizes[] = {count, columns}, strides[] = {columns, 1}, one = 1;
    const WriteAs result(to.view(e)), scales(factors.view(e), DType::float32);
    std::optional<WriteAs> offsets;
    if (shifts) offsets.emplace(shifts->view(e), DType::float32);
    const View line{offsets ? offsets->view().data : nullptr, &count, &one, 1, DType::float32};
    k::quantize_rows({(smoothed ? smoothed->view() : from.view()).data, sizes, strides, 2, DType::float32},
                     {result.view().data, sizes, strides, 2, DType::int8},
                     {scales.view().data, &count, &one, 1, DType::float32}, shifts ? &line : nullptr);
    result.finish();
    scales.finish();
    if (offsets) offsets->finish();
  });
}

void require_per_token(const Plan& plan, const char* mode) {
  if (mode != nullptr && std::string_view(mode) != "pertoken")
    plan.invalid("quantMode is '", mode, "', wanted 'pertoken'");
}

}  // namespace

void DynamicQuant(Plan& plan, const aclTensor* x, const aclTensor* smoothScalesOptional,
                  const aclTensor* yOut, const aclTensor* scaleOut) {
  dynamic_quant(plan, x, smoothScalesOptional, nullptr, std::nullopt, true, yOut, scaleOut, nullptr, false);
}
// An offset that is asked for makes it asymmetrical.
void DynamicQuantV2(Plan& plan, const aclTensor* x, const aclTensor* smoothScalesOptional,
                    const aclTensor* groupIndexOptional, int64_t dstType, const aclTensor* yOut,
                    const aclTensor* scaleOut, const aclTensor* offsetOut) {
  dynamic_quant(plan, x, smoothScalesOptional, groupIndexOptional, dstType, offsetOut == nullptr, yOut,
                scaleOut, offsetOut, true);
}
void DynamicQuantV3(Plan& plan, const aclTensor* x, const aclTensor* smoothScalesOptional,
                    const aclTensor* groupIndexOptional, int64_t dstType, bool isSymmetrical,
                    const char* quantMode, const aclTensor* yOut, const aclTensor* scaleOut,
                    const aclTensor* offsetOut) {
  require_per_token(plan, quantMode);
  dynamic_quant(plan, x, smoothScalesOptional, groupIndexOptional, dstType, isSymmetrical, yOut, scaleOut,
                offsetOut, true);
}
// dstTypeMax limits floating types only.
void DynamicQuantV4(Plan& plan, const aclTensor* x, const aclTensor* smoothScalesOptional,
                    const aclTensor* groupIndexOptional, int64_t dstType, bool isSymmetrical,
                    const char* quantMode, float, const aclTensor* yOut, const aclTensor* scaleOut,
                    const aclTensor* offsetOut) {
  require_per_token(plan, quantMode);
  dynamic_quant(plan, x, smoothScalesOptional, groupIndexOptional, dstType, isSymmetrical, yOut, scaleOut,
                offsetOut, true);
}

namespace {

void fake_quantize(Plan& plan, const Operand& in, const Operand& scale, const Operand& zero, int64_t low,
                   int64_t high, const Operand& to, const Operand& inside) {
  plan.require_dtype(in, "self", domains::floating);
  plan.require_same_dtype(to, "out", in, "self");
  plan.require_same_shape(to, "out", in, "self");
  plan.require_dtype(inside, "mask", k::dtype_set(DType::boolean));
  plan.require_same_shape(inside, "mask", in, "self");
  if (low > high)
    plan.invalid("quantMin is ", low, " and quantMax is ", high, ", wanted quantMin <= quantMax");
  plan.run([=](const aclOpExecutor& e) {
    k::fake_quantize(in.view(e), scale.view(e), zero.view(e), low, high, to.view(e), inside.view(e));
  });
}

}  // namespace

void FakeQuantPerTensorAffineCachemask(Plan& plan, const aclTensor* self, const aclTensor* scale,
                                       const aclTensor* zeroPoint, float fakeQuantEnbled, int64_t quantMin,
                                       int64_t quantMax, aclTensor* out, aclTensor* mask) {
  const Operand in = plan.input(self, "self"), by = plan.input(scale, "scale"),
                zero = plan.input(zeroPoint, "zeroPoint"), to = plan.output(out, "out"),
                inside = plan.output(mask, "mask");
  if (fakeQuantEnbled < 1) {  // switched off: everything passes
    plan.require_same_shape(to, "out", in, "self");
    plan.require_same_shape(inside, "mask", in, "self");
    plan.run([=](const aclOpExecutor& e) {
      k::copy(in.view(e), to.view(e));
      k::fill(inside.view(e), true);
    });
    return;
  }
  fake_quantize(plan, in, single_element(plan, by, "scale"), single_element(plan, zero, "zeroPoint"),
                quantMin, quantMax, to, inside);
}
void FakeQuantPerChannelAffineCachemask(Plan& plan, const aclTensor* self, const aclTensor* scale,
                                        const aclTensor* zeroPoint, int64_t axis, int64_t quantMin,
                                        int64_t quantMax, aclTensor* out, aclTensor* mask) {
  const Operand in = plan.input(self, "self"), by = plan.input(scale, "scale"),
                zero = plan.input(zeroPoint, "zeroPoint"), to = plan.output(out, "out"),
                inside = plan.output(mask, "mask");
  const int along = plan.dim(axis, in);
  fake_quantize(plan, in, along_axis(plan, by, "scale", in, along),
                along_axis(plan, zero, "zeroPoint", in, along), quantMin, quantMax, to, inside);
}

}  // namespace softnpu::ops
