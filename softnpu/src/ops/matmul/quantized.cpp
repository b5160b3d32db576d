// Products of quantised matrices: both sides int8, or only the weight.
#include <bit>

#include "kernels/common/copy.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/functors.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/quantized.h"
#include "op_plans.h"
#include "ops/common/arguments.h"
#include "ops/common/temporary.h"
#include "ops/common/views.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

constexpr DTypeSet kPacked = k::dtype_set(DType::int64, DType::uint64);

Operand turned(const Operand& in, bool transpose) {
  return transpose && in.ndim >= 2 ? swapped(in, in.ndim - 1, in.ndim - 2) : in;
}

// Scales as floats. Packed ones (aclnnTransQuantParam) hold a float in their lower half.
class Scales {
 public:
  Scales(const Operand& operand, const aclOpExecutor& e)
      : given_(operand.view(e)), memory_(given_, DType::float32) {
    if (!k::contains(kPacked, given_.dtype)) {
      k::copy(given_, memory_.view());
      return;
    }
    const Temporary packed(given_, given_.dtype);
    k::copy(given_, packed.view());
    for (int64_t i = 0; i < given_.numel(); ++i)
      memory_.view().as<float>()[i] = std::bit_cast<float>(uint32_t(packed.view().as<uint64_t>()[i]));
  }
  const View& view() const { return memory_.view(); }

 private:
  View given_;
  Temporary memory_;
};

struct Quantized {
  Operand a, b, out;
  std::optional<Operand> bias, column_scale, row_scale;
};

// Matrices of a batch one after the other; the last dimension of the scales runs along with the columns, that of the row
// scales with the rows.
void run(Plan& plan, const Quantized& product) {
  const Operand &a = product.a, &b = product.b, &out = product.out;
  plan.require_dtype(a, "x1", k::dtype_set(DType::int8));
  plan.require_dtype(b, "x2", k::dtype_set(DType::int8));
  plan.require_dtype(out, "out", domains::floating | k::dtype_set(DType::int32));
  if (a.ndim < 2 || b.ndim < 2 || out.ndim < 2) plan.invalid("wanted matrices");
  int64_t sizes[kMaxDims];
  std::copy(out.sizes, out.sizes + out.ndim, sizes);
  const int n = out.ndim;
  auto batched = [&](const Operand& operand, const char* name) {
    sizes[n - 2] = operand.sizes[operand.ndim - 2], sizes[n - 1] = operand.sizes[operand.ndim - 1];
    return broadcast_to(plan, operand, name, sizes, n);
  };
  const Operand left = batched(a, "x1"), right = batched(b, "x2");
  const int64_t rows = out.sizes[n - 2], columns = out.sizes[n - 1];
  if (left.sizes[n - 1] != right.sizes[n - 2] || left.sizes[n - 2] != rows || right.sizes[n - 1] != columns)
    plan.invalid("shapes ", shape_text(a), " and ", shape_text(b), " do not multiply to ", shape_text(out));
  auto require_line = [&](const std::optional<Operand>& line, const char* name, int64_t length) {
    if (line && line->numel() != 1 && line->numel() != length)
      plan.invalid("tensor '", name, "' has shape ", shape_text(*line), ", wanted 1 or ", length,
                   " elements");
  };
  require_line(product.column_scale, "scale", columns);
  require_line(product.row_scale, "pertokenScale", rows);
  if (product.bias && product.bias->numel() != columns)
    plan.invalid("tensor 'bias' has shape ", shape_text(*product.bias), ", wanted ", columns, " elements");
  plan.run([=, bias = product.bias, by_column = product.column_scale, by_row = product.row_scale,
            to = product.out](const aclOpExecutor& e) {
    std::optional<Scales> column, row;
    if (by_column) column.emplace(*by_column, e);
    if (by_row) row.emplace(*by_row, e);
    std::optional<ReadAs> added;
    if (bias) added.emplace(bias->view(e), bias->dtype);
    const int64_t one = 1;
    auto line = [&](const View& view, const int64_t* length) {
      return View{view.data, length, &one, 1, view.dtype};
    };
    const int64_t column_count = by_column ? by_column->numel() : 0, row_count = by_row ? by_row->numel() : 0;
    const View column_line = column ? line(column->view(), &column_count) : View{},
               row_line = row ? line(row->view(), &row_count) : View{},
               bias_line = added ? line(added->view(), &columns) : View{};
    const int64_t batch = rows * columns == 0 ? 0 : to.numel() / (rows * columns);
    for (int64_t i = 0; i < batch; ++i) {
      auto matrix = [&](const Operand& operand) {
        Operand one_of = operand;
        int64_t rest = i;
        for (int d = n - 3; d >= 0; --d) {
          one_of.offset += rest % operand.sizes[d] * operand.strides[d] * item_bytes(operand);
          rest /= operand.sizes[d];
        }
        for (int d = 0; d < n - 2; ++d) one_of = without_dim(one_of, 0);
        return one_of;
      };
      const Operand first = matrix(left), second = matrix(right), result = matrix(to);
      k::integer_product(first.view(e), second.view(e), added ? &bias_line : nullptr,
                         column ? &column_line : nullptr, row ? &row_line : nullptr, result.view(e));
    }
  });
}

void refuse(Plan& plan, const aclTensor* tensor, const char* name) {
  const std::optional<Operand> given = plan.optional_input(tensor, name);
  if (given && given->numel() != 0) plan.invalid("'", name, "' is not supported, wanted NULL");
}

void with_two_scales(Plan& plan, const aclTensor* x1, const aclTensor* x2, const aclTensor* x1Scale,
                     const aclTensor* x2Scale, const aclTensor* yScale, const aclTensor* x1Offset,
                     const aclTensor* x2Offset, const aclTensor* yOffset, const aclTensor* bias,
                     bool transposeX1, bool transposeX2, const aclTensor* out) {
  Quantized product;
  product.a = turned(plan.input(x1, "x1"), transposeX1);
  product.b = turned(plan.input(x2, "x2"), transposeX2);
  product.row_scale = unless_empty(plan.optional_input(x1Scale, "x1Scale"));
  product.column_scale = unless_empty(plan.optional_input(x2Scale, "x2Scale"));
  refuse(plan, yScale, "yScale");
  refuse(plan, x1Offset, "x1Offset");
  refuse(plan, x2Offset, "x2Offset");
  refuse(plan, yOffset, "yOffset");
  product.bias = unless_empty(plan.optional_input(bias, "bias"));
  product.out = plan.output(out, "out");
  run(plan, product);
}

}  // namespace

void QuantMatmulV3(Plan& plan, const aclTensor* x1, const aclTensor* x2, const aclTensor* scale,
                   const aclTensor* offset, const aclTensor* bias, bool transposeX1, bool transposeX2,
                   const aclTensor* out) {
  QuantMatmulV4(plan, x1, x2, scale, offset, nullptr, bias, transposeX1, transposeX2, out);
}
void QuantMatmulV4(Plan& plan, const aclTensor* x1, const aclTensor* x2, const aclTensor* scale,
                   const aclTensor* offset, const aclTensor* pertokenScaleOptional, const aclTensor* bias,
                   bool transposeX1, bool transposeX2, const aclTensor* out) {
  Quantized product;
  product.a = turned(plan.input(x1, "x1"), transposeX1);
  product.b = turned(plan.input(x2, "x2"), transposeX2);
  product.column_scale = plan.input(scale, "scale");
  refuse(plan, offset, "offset");
  product.row_scale = unless_empty(plan.optional_input(pertokenScaleOptional, "pertokenScaleOptional"));
  product.bias = unless_empty(plan.optional_input(bias, "bias"));
  product.out = plan.output(out, "out");
  run(plan, product);
}
void QuantMatmulV5(Plan& plan, const aclTensor* x1, const aclTensor* x2, const aclTensor* x1Scale,
                   const aclTensor* x2Scale, const aclTensor* yScale, const aclTensor* x1Offset,
                   const aclTensor* x2Offset, const aclTensor* yOffset, const aclTensor* bias,
                   bool transposeX1, bool transposeX2, int64_t, aclTensor* out) {
  with_two_scales(plan, x1, x2, x1Scale, x2Scale, yScale, x1Offset, x2Offset, yOffset, bias, transposeX1,
                  transposeX2, out);
}
void QuantMatmulWeightNz(Plan& plan, const aclTensor* x1, const aclTensor* x2, const aclTensor* x1Scale,
                         const aclTensor* x2Scale, const aclTensor* yScale, const aclTensor* x1Offset,
                         const aclTensor* x2Offset, const aclTensor* yOffset, const aclTensor* bias,
                         bool transposeX1, bool transposeX2, int64_t, aclTensor* out) {
  with_two_scales(plan, x1, x2, x1Scale, x2Scale, yScale, x1Offset, x2Offset, yOffset, bias, transposeX1,
                  transposeX2, out);
}

namespace {

// A float in the lower half of 64 bits, as the products above take it.
void pack_scales(Plan& plan, const aclTensor* scale, const aclTensor* offset, const aclTensor* out) {
  const Operand in = plan.input(scale, "scale");
  refuse(plan, offset, "offset");
  const Operand to = plan.output(out, "out");
  plan.require_dtype(in, "scale", k::dtype_set(DType::float32));
  plan.require_dtype(to, "out", kPacked);
  plan.require_same_shape(to, "out", in, "scale");
  plan.run([=](const aclOpExecutor& e) {
    const ReadAs from = dense_input(in.view(e));
    const WriteAs result(to.view(e));
    for (int64_t i = 0; i < in.numel(); ++i)
      result.view().as<uint64_t>()[i] = std::bit_cast<uint32_t>(from.view().as<float>()[i]);
    result.finish();
  });
}

// x @ ((weight + offset) * scale) + bias: scales for each column, each group of rows in a column, or all.
void weight_only(Plan& plan, const aclTensor* x, const aclTensor* weight, const aclTensor* scale,
                 const aclTensor* offset, const aclTensor* quant_scale, const aclTensor* quant_offset,
                 const aclTensor* bias, int group, const aclTensor* y) {
  const Operand in = plan.input(x, "x"), matrix = plan.input(weight, "weight"),
                by = plan.input(scale, "antiquantScale");
  const std::optional<Operand> shift = unless_empty(plan.optional_input(offset, "antiquantOffsetOptional"));
  refuse(plan, quant_scale, "quantScaleOptional");
  refuse(plan, quant_offset, "quantOffsetOptional");
  const std::optional<Operand> added = unless_empty(plan.optional_input(bias, "biasOptional"));
  const Operand to = plan.output(y, "y");
  plan.require_dtype(in, "x", domains::floating);
  plan.require_same_dtype(to, "y", in, "x");
  plan.require_dtype(matrix, "weight", k::dtype_set(DType::int8));
  plan.require_ndim(in, "x", 2);
  plan.require_ndim(matrix, "weight", 2);
  const int64_t depth = matrix.sizes[0], columns = matrix.sizes[1];
  if (in.sizes[1] != depth)
    plan.invalid("shapes ", shape_text(in), " and ", shape_text(matrix), " cannot be multiplied");
  plan.require_shape(to, "y", {in.sizes[0], columns});
  if (added) plan.require_broadcast(*added, "biasOptional", to);
  const int64_t groups = group > 0 ? (depth + group - 1) / group : 1;
  auto grid = [&](const Operand& values, const char* name) {  // [groups, columns]
    const int64_t sizes[] = {groups, columns};
    if (groups > 1) plan.require_shape(values, name, {groups, columns});
    return broadcast_to(plan, values.numel() == 1 ? single_element(plan, values, name) : values, name, sizes,
                        2);
  };
  const Operand scales = grid(by, "antiquantScale");
  std::optional<Operand> offsets;
  if (shift) offsets = grid(*shift, "antiquantOffsetOptional");
  plan.run([=](const aclOpExecutor& e) {
    const View small = matrix.view(e);
    const Temporary wide(small, DType::float32);
    const Scalar one(1);
    k::copy(small, wide.view());
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t start = groups == 1 ? 0 : g * group,
                    count = groups == 1 ? depth : std::min<int64_t>(group, depth - start);
      const int64_t sizes[] = {count, columns}, strides[] = {columns, 1};
      const View part{wide.view().as<float>() + start * columns, sizes, strides, 2, DType::float32};
      const Operand factor = sliced(scales, 0, g, 1);
      if (offsets) {
        const Operand moved = sliced(*offsets, 0, g, 1);
        k::binary<k::add_op>(part, moved.view(e), part, DType::float32, &one);
      }
      k::binary<k::mul_op>(part, factor.view(e), part, DType::float32);
    }
    const ReadAs left(in.view(e), DType::float32);
    const WriteAs result(to.view(e), DType::float32);
    if (added) k::copy(added->view(e), result.view());
    k::gemm(left.view(), wide.view(), result.view(), one, Scalar(added ? 1 : 0));
    result.finish();
  });
}

}  // namespace

void TransQuantParamV2(Plan& plan, const aclTensor* scale, const aclTensor* offset, const aclTensor* out) {
  pack_scales(plan, scale, offset, out);
}
void TransQuantParamV3(Plan& plan, const aclTensor* scale, const aclTensor* offset, int64_t roundMode,
                       const aclTensor* out) {
  if (roundMode != 0 && roundMode != 1) plan.invalid("roundMode is ", roundMode, ", wanted 0 or 1");
  pack_scales(plan, scale, offset, out);
}

void WeightQuantBatchMatmulV2(Plan& plan, const aclTensor* x, const aclTensor* weight,
                              const aclTensor* antiquantScale, const aclTensor* antiquantOffsetOptional,
                              const aclTensor* quantScaleOptional, const aclTensor* quantOffsetOptional,
                              const aclTensor* biasOptional, int antiquantGroupSize, const aclTensor* y) {
  weight_only(plan, x, weight, antiquantScale, antiquantOffsetOptional, quantScaleOptional,
              quantOffsetOptional, biasOptional, antiquantGroupSize, y);
}
void WeightQuantBatchMatmulV3(Plan& plan, const aclTensor* x, const aclTensor* weight,
                              const aclTensor* antiquantScale, const aclTensor* antiquantOffsetOptional,
                              const aclTensor* quantScaleOptional, const aclTensor* quantOffsetOptional,
                              const aclTensor* biasOptional, int antiquantGroupSize, int,
                              const aclTensor* y) {
  weight_only(plan, x, weight, antiquantScale, antiquantOffsetOptional, quantScaleOptional,
              quantOffsetOptional, biasOptional, antiquantGroupSize, y);
}
void WeightQuantBatchMatmulNz(Plan& plan, const aclTensor* x, const aclTensor* weight,
                              const aclTensor* antiquantScale, const aclTensor* antiquantOffsetOptional,
                              const aclTensor* quantScaleOptional, const aclTensor* quantOffsetOptional,
                              const aclTensor* biasOptional, int antiquantGroupSize, const aclTensor* y) {
  weight_only(plan, x, weight, antiquantScale, antiquantOffsetOptional, quantScaleOptional,
              quantOffsetOptional, biasOptional, antiquantGroupSize, y);
}

}  // namespace softnpu::ops
