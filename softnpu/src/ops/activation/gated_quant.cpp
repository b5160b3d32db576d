// SwiGLU between integers: sums of products brought back to numbers before it, its results to int8 after it.
#include "kernels/common/dense.h"
#include "kernels/matmul/quantized.h"
#include "op_plans.h"
#include "ops/common/arguments.h"
#include "ops/common/row_quantization.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

// Where groups of rows end: cumulative numbers or counts.
std::vector<int64_t> group_ends(const std::optional<Operand>& groups, bool counts, int64_t rows,
                                const aclOpExecutor& e) {
  if (!groups) return {rows};
  const k::DenseInput<int64_t> numbers(groups->view(e));
  std::vector<int64_t> ends;
  int64_t last = 0;
  for (int64_t i = 0; i < numbers.numel(); ++i) {
    const int64_t end = counts ? last + numbers[i] : numbers[i];
    MT_CHECK(end >= last && end <= rows, "group ", i, " goes from ", last, " to ", end, " of ", rows,
             " rows");
    ends.push_back(last = end);
  }
  return ends;
}

// silu(a) * b
struct Gate {
  bool left;  // a is the first half of the row, else the second

  void apply(const float* row, int64_t width, float* to) const {
    const float *a = row + (left ? 0 : width), *b = row + (left ? width : 0);
    for (int64_t i = 0; i < width; ++i) to[i] = a[i] / (1 + std::exp(-a[i])) * b[i];
  }
};

struct GatedQuant {
  Operand x, out;
  std::optional<Operand> weight_scale, row_scale, bias, smooth, offset, groups, scale_out;
  Gate gate;
  bool counts, dynamic;

  int64_t width() const { return out.sizes[out.ndim - 1]; }
  int64_t rows() const { return width() == 0 ? 0 : out.numel() / width(); }
};

// One number or one for each column, for all rows or for each group of them.
void require_columns(const Plan& plan, const GatedQuant& c, const std::optional<Operand>& operand,
                     const char* name, int64_t width) {
  if (!operand) return;
  const int64_t groups = c.groups ? c.groups->numel() : 1;
  if (operand->numel() != width * groups && operand->numel() != groups && operand->numel() != width)
    plan.invalid("tensor '", name, "' has shape ", shape_text(*operand), ", wanted ", width, " numbers for ",
                 groups, " groups");
}
// What belongs to the columns of a group; a step of 0 gives all of them the same number.
struct ColumnsOf {
  const float* row = nullptr;
  int64_t step = 0;
  float operator[](int64_t i) const { return row[i * step]; }
};
ColumnsOf columns_of(const OptionalDense& dense, const std::optional<Operand>& operand, int64_t group,
                     int64_t groups, int64_t width) {
  if (!dense.get()) return {};
  const float* first = dense.get()->as<float>();
  if (operand->numel() == width * groups) return {first + group * width, 1};
  if (operand->numel() == width) return {first, 1};
  return {first + group, 0};
}

void check(const Plan& plan, const GatedQuant& c) {
  plan.require_dtype(c.out, "yOut", k::dtype_set(DType::int8));
  if (c.x.ndim < 2 || c.x.sizes[c.x.ndim - 1] % 2 != 0)
    plan.invalid("tensor 'x' has shape ", shape_text(c.x),
                 ", wanted at least 2 dimensions, the last one even");
  std::vector<int64_t> wanted = sizes_of(c.x);
  wanted.back() /= 2;
  plan.require_shape(c.out, "yOut", wanted);
  wanted.pop_back();
  if (c.scale_out && c.dynamic) plan.require_shape(*c.scale_out, "scaleOut", wanted);
  if (c.groups) {
    plan.require_ndim(*c.groups, "groupIndex", 1);
    plan.require_dtype(*c.groups, "groupIndex", k::dtype_set(DType::int32, DType::int64));
  }
  require_columns(plan, c, c.weight_scale, "weightScale", 2 * c.width());
  require_columns(plan, c, c.bias, "bias", 2 * c.width());
  require_columns(plan, c, c.smooth, "smoothScales", c.width());
  require_columns(plan, c, c.offset, "offsets", c.width());
  if (c.row_scale && c.row_scale->numel() != c.rows())
    plan.invalid("tensor 'activationScale' has shape ", shape_text(*c.row_scale), ", wanted ", c.rows(),
                 " numbers");
}

void run(const GatedQuant& c, const aclOpExecutor& e) {
  const std::optional<Operand> row_scales = c.dynamic ? c.scale_out : std::nullopt;
  const k::DenseInput<float> x(c.x.view(e));
  const OptionalDense weights(c.weight_scale, e, k::Access::read, DType::float32),
      tokens(c.row_scale, e, k::Access::read, DType::float32),
      added(c.bias, e, k::Access::read, DType::float32), smooth(c.smooth, e, k::Access::read, DType::float32),
      offset(c.offset, e, k::Access::read, DType::float32),
      scales(row_scales, e, k::Access::write, DType::float32);
  const k::DenseOutput<int8_t> to(c.out.view(e));
  const int64_t width = c.width(), wide = 2 * width;
  const bool whole_bias = c.bias && !mt::is_floating(c.bias->dtype);  // added to the sums, before the scales
  const std::vector<int64_t> ends = group_ends(c.groups, c.counts, c.rows(), e);
  const int64_t groups = int64_t(ends.size());
  std::vector<float> row(static_cast<size_t>(wide)), gated(static_cast<size_t>(width)),
      by(static_cast<size_t>(width), 1);
  to.fill(0);
  if (scales.get()) std::fill_n(scales.get()->as<float>(), c.rows(), 0.0f);
  for (int64_t group = 0, at = 0; group < groups; ++group) {
    const ColumnsOf weight = columns_of(weights, c.weight_scale, group, groups, wide),
                    bias = columns_of(added, c.bias, group, groups, wide),
                    factor = columns_of(smooth, c.smooth, group, groups, width),
                    shift = columns_of(offset, c.offset, group, groups, width);
    for (int64_t i = 0; i < width && factor.row; ++i) by[size_t(i)] = factor[i];
    for (; at < ends[size_t(group)]; ++at) {
      const float token = tokens.get() ? tokens.get()->as<float>()[at] : 1;
      for (int64_t i = 0; i < wide; ++i) {
        float value = x[at * wide + i];
        if (bias.row && whole_bias) value += bias[i];
        if (weight.row) value *= weight[i];
        value *= token;
        row[size_t(i)] = bias.row && !whole_bias ? value + bias[i] : value;
      }
      c.gate.apply(row.data(), width, gated.data());
      int8_t* own = to.data() + at * width;
      if (c.dynamic) {
        const float scale = quantise_row(gated.data(), by.data(), width, own);
        if (scales.get()) scales.get()->as<float>()[at] = scale;
      } else {
        for (int64_t i = 0; i < width; ++i)
          own[i] = to_int8(gated[size_t(i)] * by[size_t(i)] + (shift.row ? shift[i] : 0));
      }
    }
  }
  to.store();
  scales.store();
}

void plan_run(Plan& plan, const GatedQuant& c) {
  check(plan, c);
  plan.run([call = std::make_shared<const GatedQuant>(c)](const aclOpExecutor& e) { run(*call, e); });
}

bool is_dynamic(const Plan& plan, const char* mode) {
  const std::string_view name = text_of(mode, "static");
  if (name == "dynamic" || name == "dynamic_msd") return true;
  if (name == "static" || name == "static_per_channel" || name == "static_per_tensor") return false;
  plan.invalid("quantMode is '", name, "', wanted 'static' or 'dynamic'");
}

void dequant_swiglu_quant(Plan& plan, const aclTensor* x, const aclTensor* weightScale,
                          const aclTensor* activationScale, const aclTensor* bias,
                          const aclTensor* quantScale, const aclTensor* quantOffset,
                          const aclTensor* groupIndex, const char* quantMode, const Gate& gate,
                          const aclTensor* yOut, const aclTensor* scaleOut) {
  GatedQuant c;
  c.x = plan.input(x, "x");
  c.weight_scale = unless_empty(plan.optional_input(weightScale, "weightScale"));
  c.row_scale = unless_empty(plan.optional_input(activationScale, "activationScale"));
  c.bias = unless_empty(plan.optional_input(bias, "bias"));
  c.smooth = unless_empty(plan.optional_input(quantScale, "quantScale"));
  c.offset = unless_empty(plan.optional_input(quantOffset, "quantOffset"));
  c.groups = unless_empty(plan.optional_input(groupIndex, "groupIndex"));
  c.out = plan.output(yOut, "yOut");
  c.scale_out = plan.output(scaleOut, "scaleOut");
  plan.require_dtype(c.x, "x", k::dtype_set(DType::int32, DType::float16, DType::bfloat16));
  if ((c.x.dtype == DType::int32) != c.weight_scale.has_value())
    plan.invalid("'weightScale' belongs to an int32 'x', which is ", mt::info(c.x.dtype).name);
  c.gate = gate, c.counts = true, c.dynamic = is_dynamic(plan, quantMode);
  if (!c.dynamic) plan.invalid("quantMode is 'static', the software NPU supports 'dynamic'");
  if (c.offset) plan.invalid("'quantOffset' is not supported with quantMode 'dynamic', wanted NULL");
  plan_run(plan, c);
}

}  // namespace

void SwiGluQuantV2(Plan& plan, const aclTensor* x, const aclTensor* smoothScalesOptional,
                   const aclTensor* offsetsOptional, const aclTensor* groupIndexOptional, bool activateLeft,
                   char* quantModeOptional, int64_t groupListType, int64_t dstType, const aclTensor* yOut,
                   const aclTensor* scaleOut) {
  GatedQuant c;
  c.x = plan.input(x, "x");
  c.smooth = unless_empty(plan.optional_input(smoothScalesOptional, "smoothScales"));
  c.offset = unless_empty(plan.optional_input(offsetsOptional, "offsets"));
  c.groups = unless_empty(plan.optional_input(groupIndexOptional, "groupIndex"));
  c.out = plan.output(yOut, "yOut");
  c.scale_out = plan.output(scaleOut, "scaleOut");
  plan.require_dtype(c.x, "x", k::dtype_set(DType::float16, DType::bfloat16, DType::float32));
  if (groupListType < 0 || groupListType > 1)
    plan.invalid("groupListType is ", groupListType, ", wanted 0 (ends) or 1 (counts)");
  c.gate = {activateLeft}, c.counts = groupListType == 1, c.dynamic = is_dynamic(plan, quantModeOptional);
  if (!c.dynamic && !c.smooth) plan.null_argument("smoothScales");
  plan_run(plan, c);
}

void DequantSwigluQuant(Plan& plan, const aclTensor* x, const aclTensor* weightScaleOptional,
                        const aclTensor* activationScaleOptional, const aclTensor* biasOptional,
                        const aclTensor* quantScaleOptional, const aclTensor* quantOffsetOptional,
                        const aclTensor* groupIndexOptional, bool activateLeft, char* quantModeOptional,
                        const aclTensor* yOut, const aclTensor* scaleOut) {
  dequant_swiglu_quant(plan, x, weightScaleOptional, activationScaleOptional, biasOptional,
                       quantScaleOptional, quantOffsetOptional, groupIndexOptional, quantModeOptional,
                       {activateLeft}, yOut, scaleOut);
}
void DequantSwigluQuantV2(Plan& plan, const aclTensor* x, const aclTensor* weightScaleOptional,
                          const aclTensor* activationScaleOptional, const aclTensor* biasOptional,
                          const aclTensor* quantScaleOptional, const aclTensor* quantOffsetOptional,
                          const aclTensor* groupIndexOptional, bool activateLeft, char* quantModeOptional,
                          int64_t dstType, char* roundModeOptional, int64_t activateDim, int64_t swigluMode,
                          double clampLimit, double gluAlpha, double gluBias, const aclTensor* yOut,
                          const aclTensor* scaleOut) {
  if (swigluMode != 0)
    plan.invalid("swigluMode is ", swigluMode, ", the software NPU supports 0 (SwiGLU without limits)");
  if (text_of(roundModeOptional, "rint") != "rint")
    plan.invalid("roundMode is '", roundModeOptional, "', the software NPU supports 'rint'");
  if (activateDim != -1) plan.invalid("activateDim is ", activateDim, ", the software NPU supports -1");
  dequant_swiglu_quant(plan, x, weightScaleOptional, activationScaleOptional, biasOptional,
                       quantScaleOptional, quantOffsetOptional, groupIndexOptional, quantModeOptional,
                       {activateLeft}, yOut, scaleOut);
}

// Groups of rows times a weight each, SwiGLU of the results, and those in int8. Data is always plain here, so that the
// weight's form on a card does not matter.
void GroupedMatmulSwigluQuantWeightNZ(Plan& plan, const aclTensor* x, const aclTensor* weight,
                                      const aclTensor* bias, const aclTensor* offset,
                                      const aclTensor* weightScale, const aclTensor* xScale,
                                      const aclTensor* groupList, aclTensor* output, aclTensor* outputScale,
                                      aclTensor* outputOffset) {
  const Operand from = plan.input(x, "x"), factors = plan.input(weight, "weight");
  for (const aclTensor* tensor : {bias, offset})
    if (unless_empty(plan.optional_input(tensor, "bias")))
      plan.invalid("'bias' and 'offset' are not supported, as on the card");
  const Operand columns = plan.input(weightScale, "weightScale"), tokens = plan.input(xScale, "xScale"),
                groups = plan.input(groupList, "groupList"), to = plan.output(output, "output"),
                scales = plan.output(outputScale, "outputScale");
  optional_output(plan, outputOffset, "outputOffset");
  plan.require_ndim(from, "x", 2);
  plan.require_ndim(factors, "weight", 3);
  for (const auto& [operand, name] :
       {std::pair{&from, "x"}, std::pair{&factors, "weight"}, std::pair{&to, "output"}})
    plan.require_dtype(*operand, name, k::dtype_set(DType::int8));
  const int64_t rows = from.sizes[0], count = factors.sizes[0], wide = factors.sizes[2], width = wide / 2;
  if (factors.sizes[1] != from.sizes[1] || wide % 2 != 0)
    plan.invalid("tensors 'x' and 'weight' of shapes ", shape_text(from), " and ", shape_text(factors),
                 " cannot be multiplied to an even number of columns");
  plan.require_shape(columns, "weightScale", {count, wide});
  plan.require_shape(tokens, "xScale", {rows});
  plan.require_shape(groups, "groupList", {count});
  plan.require_dtype(groups, "groupList", k::dtype_set(DType::int64));
  plan.require_shape(to, "output", {rows, width});
  plan.require_shape(scales, "outputScale", {rows});
  plan.run([=](const aclOpExecutor& e) {
    const std::vector<int64_t> ends = group_ends(groups, false, rows, e);
    const k::DenseOutput<int8_t> result(to.view(e));
    const k::DenseOutput<float> factor(scales.view(e));
    result.fill(0);
    factor.fill(0);
    std::vector<float> gated(static_cast<size_t>(width));
    int64_t start = 0;
    for (int64_t group = 0; group < count; ++group) {
      const int64_t end = ends[size_t(group)];
      const k::Temporary product({end - start, wide}, DType::float32);
      const Operand part = narrowed(from, 0, start, end - start), matrix = selected(factors, 0, group),
                    column = selected(columns, 0, group), token = narrowed(tokens, 0, start, end - start);
      const View by_column = column.view(e), by_row = token.view(e);
      if (end > start)
        k::integer_product(part.view(e), matrix.view(e), nullptr, &by_column, &by_row, product.view());
      for (int64_t row = start; row < end; ++row) {
        Gate{true}.apply(product.view().as<float>() + (row - start) * wide, width, gated.data());
        factor[row] = quantise_row(gated.data(), nullptr, width, result.data() + row * width);
      }
      start = end;
    }
    result.store();
    factor.store();
  });
}

}  // namespace softnpu::ops
