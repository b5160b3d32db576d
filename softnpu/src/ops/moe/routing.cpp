// Rows of tokens laid out expert by expert, and put together again.
#include <cstring>

#include "kernels/common/dense.h"
#include "op_plans.h"
#include "ops/common/arguments.h"
#include "ops/common/row_quantization.h"
#include "ops/moe/choice.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

enum class Counts { none, cumulative, single, pairs };
enum class Quantisation { none, fixed, dynamic };

// Note [Routing of tokens]
// Place p = token * choices + choice of expertIdx wants token's row at that expert. Sorted by expert (places of one expert
// stay in their order) they are the rows of the result, or, with a capacity, rows expert * capacity + i, of which
// those beyond the capacity are dropped and those that nobody takes are 0. The index says for each place which row it
// has (-1: none), or the other way round.
struct Routing {
  Operand x, experts, to, index;
  std::optional<Operand> scale, offset, counts, before_capacity, row_scales;
  int64_t capacity = 0;         // 0: none is dropped
  int64_t first = 0, end = -1;  // of the experts; -1: all that occur
  Counts kind = Counts::none;
  bool index_of_rows = false;
  Quantisation quantisation = Quantisation::none;

  int64_t choices() const { return experts.sizes[1]; }
  int64_t width() const { return x.sizes[1]; }
  int64_t result_rows() const { return width() == 0 ? 0 : to.numel() / width(); }
};

void check(const Plan& plan, const Routing& r, int64_t expert_count) {
  plan.require_ndim(r.x, "x", 2);
  plan.require_dtype(r.x, "x", kUpToFloat | k::dtype_set(DType::int8));
  plan.require_ndim(r.experts, "expertIdx", 2);
  plan.require_dtype(r.experts, "expertIdx", kInt32);
  if (r.experts.sizes[0] != r.x.sizes[0])
    plan.invalid("tensors 'x' and 'expertIdx' have shapes ", shape_text(r.x), " and ", shape_text(r.experts),
                 ", wanted as many rows");
  plan.require_dtype(r.index, "expandedRowIdxOut", kInt32);
  plan.require_shape(r.index, "expandedRowIdxOut", {r.experts.numel()});
  if (r.capacity > 0) plan.require_shape(r.to, "expandedXOut", {expert_count, r.capacity, r.width()});
  else {
    plan.require_ndim(r.to, "expandedXOut", 2);
    if (r.to.sizes[1] != r.width() || r.to.sizes[0] > r.experts.numel())
      plan.invalid("tensor 'expandedXOut' has shape ", shape_text(r.to), ", wanted at most ",
                   r.experts.numel(), " rows of ", r.width());
  }
  if (r.quantisation == Quantisation::none) plan.require_same_dtype(r.to, "expandedXOut", r.x, "x");
  else plan.require_dtype(r.to, "expandedXOut", k::dtype_set(DType::int8));
}

void run(const Routing& r, const aclOpExecutor& e) {
  const k::DenseInput<int32_t> expert(r.experts.view(e));
  const k::Dense source(r.x.view(e), r.quantisation == Quantisation::none ? r.x.dtype : DType::float32,
                        k::Access::read),
      target(r.to.view(e), r.to.dtype, k::Access::write);
  const k::DenseOutput<int32_t> index(r.index.view(e));
  const OptionalDense scales(r.scale, e, k::Access::read, DType::float32),
      offsets(r.offset, e, k::Access::read, DType::float32),
      row_scales(r.row_scales, e, k::Access::write, DType::float32);
  const int64_t places = r.experts.numel(), rows = r.result_rows(), width = r.width();
  const size_t bytes = size_t(width) * mt::itemsize(r.to.dtype);
  std::memset(target.view().as<char>(), 0, size_t(rows) * bytes);
  index.fill(-1);
  if (row_scales.get()) std::fill_n(row_scales.get()->as<float>(), r.row_scales->numel(), 0.0f);
  int64_t end = r.end;
  if (end < 0)
    for (int64_t i = 0; i < places; ++i) end = std::max<int64_t>(end, expert[i] + 1);
  std::vector<int64_t> taken(size_t(std::max<int64_t>(end - r.first, 0)), 0);
  int64_t next = 0;
  for (const int64_t place : sorted_places(expert.data(), places)) {
    const int64_t own = expert[place];
    if (own < r.first || own >= end) continue;
    int64_t& count = taken[size_t(own - r.first)];
    const int64_t row = r.capacity == 0 ? next : count < r.capacity ? own * r.capacity + count : -1;
    ++next, ++count;
    if (row < 0) continue;
    if (r.index_of_rows) index[row] = int32_t(place);
    else index[place] = int32_t(row);
    if (row >= rows) continue;  // beyond what is active
    const int64_t token = place / r.choices();
    float row_scale = scales.get() ? scales.get()->as<float>()[0] : 0;
    if (r.quantisation == Quantisation::none) {
      std::memcpy(target.view().as<char>() + size_t(row) * bytes,
                  source.view().as<char>() + size_t(token) * bytes, bytes);
      if (scales.get()) row_scale = scales.get()->as<float>()[token];
    } else {
      const float* smooth = nullptr;
      if (r.quantisation == Quantisation::dynamic && scales.get())
        smooth = scales.get()->as<float>() + (r.scale->sizes[0] == 1 ? 0 : own - r.first) * width;
      const float* from = source.view().as<float>() + token * width;
      int8_t* to = target.view().as<int8_t>() + row * width;
      if (r.quantisation == Quantisation::dynamic) row_scale = quantise_row(from, smooth, width, to);
      else {
        const float offset = offsets.get()->as<float>()[0];
        for (int64_t i = 0; i < width; ++i) to[i] = to_int8(from[i] * row_scale + offset);
      }
    }
    if (row_scales.get() && row < r.row_scales->numel()) row_scales.get()->as<float>()[row] = row_scale;
  }
  target.store();
  index.store();
  row_scales.store();
  if (r.before_capacity) {
    const k::DenseOutput<int32_t> to(r.before_capacity->view(e));
    for (size_t i = 0; i < taken.size(); ++i) to[int64_t(i)] = int32_t(taken[i]);
    to.store();
  }
  if (!r.counts) return;
  const k::DenseOutput<int64_t> to(r.counts->view(e));
  to.fill(0);
  int64_t sum = 0, pair = 0;
  for (size_t i = 0; i < taken.size(); ++i) {
    sum += taken[i];
    if (r.kind == Counts::pairs) {
      if (taken[i] == 0) continue;
      to[2 * pair] = int64_t(i) + r.first, to[2 * pair + 1] = taken[i];
      ++pair;
    } else to[int64_t(i)] = r.kind == Counts::cumulative ? sum : taken[i];
  }
  to.store();
}

void finalize(Plan& plan, const Operand& rows, const std::optional<Operand>& x1,
              const std::optional<Operand>& x2, const std::optional<Operand>& bias,
              const std::optional<Operand>& scales, const Operand& index,
              const std::optional<Operand>& experts, bool by_columns, const Operand& out) {
  plan.require_dtype(rows, "expandedX", kUpToFloat);
  plan.require_dtype(out, "out", kUpToFloat);
  plan.require_dtype(index, "expandedRowIdx", kInt32);
  plan.require_ndim(out, "out", 2);
  const int64_t tokens = out.sizes[0], width = out.sizes[1],
                choices = scales && scales->ndim == 2 ? scales->sizes[1] : 1;
  if (rows.ndim < 2 || rows.sizes[rows.ndim - 1] != width)
    plan.invalid("tensor 'expandedX' has shape ", shape_text(rows), ", wanted rows of ", width);
  for (const auto& [operand, name] : {std::pair{&x1, "x1"}, std::pair{&x2, "x2"}})
    if (*operand) plan.require_same_shape(**operand, name, out, "out");
  if (scales) plan.require_shape(*scales, "scales", {tokens, choices});
  plan.require_shape(index, "expandedRowIdx", {tokens * choices});
  if (bias) {
    if (!experts) plan.null_argument("expertIdx");
    plan.require_ndim(*bias, "bias", 2);
    plan.require_shape(*bias, "bias", {bias->sizes[0], width});
    plan.require_dtype(*experts, "expertIdx", kInt32);
    plan.require_shape(*experts, "expertIdx", {tokens, choices});
  }
  plan.run([=](const aclOpExecutor& e) {
    const k::DenseInput<float> from(rows.view(e));
    const k::DenseInput<int32_t> at(index.view(e));
    const OptionalDense first(x1, e, k::Access::read, DType::float32),
        second(x2, e, k::Access::read, DType::float32), added(bias, e, k::Access::read, DType::float32),
        weights(scales, e, k::Access::read, DType::float32),
        chosen(experts, e, k::Access::read, DType::int32);
    const k::DenseOutput<float> to(out.view(e));
    const int64_t count = width == 0 ? 0 : rows.numel() / width;
    for (int64_t token = 0; token < tokens; ++token) {
      for (int64_t i = 0; i < width; ++i) {
        const int64_t place = token * width + i;
        to[place] = (first.get() ? first.get()->as<float>()[place] : 0) +
                    (second.get() ? second.get()->as<float>()[place] : 0);
      }
      for (int64_t choice = 0; choice < choices; ++choice) {
        const int64_t own = token * choices + choice, row = at[by_columns ? choice * tokens + token : own];
        MT_CHECK(row >= -1 && row < count, "expandedRowIdx holds ", row, ", but there are ", count, " rows");
        const float weight = weights.get() ? weights.get()->as<float>()[own] : 1;
        const float* bias_row = nullptr;
        if (added.get()) {
          const int64_t expert = chosen.get()->as<int32_t>()[own];
          MT_CHECK(expert >= 0 && expert < bias->sizes[0], "expertIdx holds ", expert, ", but there are ",
                   bias->sizes[0], " experts");
          bias_row = added.get()->as<float>() + expert * width;
        }
        for (int64_t i = 0; i < width; ++i)
          to[token * width + i] +=
              weight * ((row < 0 ? 0 : from[row * width + i]) + (bias_row ? bias_row[i] : 0));
      }
    }
    to.store();
  });
}

}  // namespace

// rowIdx names the places column by column: those of the first choices come first.
void MoeInitRouting(Plan& plan, const aclTensor* x, const aclTensor* rowIdx, const aclTensor* expertIdx,
                    int64_t activeNum, const aclTensor* expandedXOut, const aclTensor* expandedRowIdxOut,
                    const aclTensor* expandedExpertIdxOut) {
  const Operand from = plan.input(x, "x"), places = plan.input(rowIdx, "rowIdx"),
                experts = plan.input(expertIdx, "expertIdx"), to = plan.output(expandedXOut, "expandedXOut"),
                index = plan.output(expandedRowIdxOut, "expandedRowIdxOut"),
                sorted = plan.output(expandedExpertIdxOut, "expandedExpertIdxOut");
  plan.require_ndim(from, "x", 2);
  plan.require_ndim(experts, "expertIdx", 2);
  plan.require_same_shape(places, "rowIdx", experts, "expertIdx");
  for (const auto& [operand, name] :
       {std::pair{&places, "rowIdx"}, std::pair{&experts, "expertIdx"},
        std::pair{&index, "expandedRowIdxOut"}, std::pair{&sorted, "expandedExpertIdxOut"}})
    plan.require_dtype(*operand, name, kInt32);
  plan.require_same_dtype(from, "x", to, "expandedXOut");
  if (activeNum < 0) plan.invalid("activeNum is ", activeNum, ", wanted at least 0");
  const int64_t tokens = from.sizes[0], choices = experts.sizes[1], count = tokens * choices;
  if (experts.sizes[0] != tokens)
    plan.invalid("tensors 'x' and 'expertIdx' have shapes ", shape_text(from), " and ", shape_text(experts),
                 ", wanted as many rows");
  plan.require_shape(to, "expandedXOut", {std::min(activeNum, tokens) * choices, from.sizes[1]});
  plan.require_shape(index, "expandedRowIdxOut", {count});
  plan.require_shape(sorted, "expandedExpertIdxOut", {count});
  plan.run([=](const aclOpExecutor& e) {
    const k::DenseInput<int32_t> place(places.view(e)), expert(experts.view(e));
    const k::Dense source(from.view(e), from.dtype, k::Access::read),
        target(to.view(e), to.dtype, k::Access::write);
    const k::DenseOutput<int32_t> rows(index.view(e)), in_order(sorted.view(e));
    const size_t bytes = size_t(from.sizes[1]) * mt::itemsize(from.dtype);
    const std::vector<int64_t> order = sorted_places(expert.data(), count);
    for (int64_t row = 0; row < count; ++row) {
      const int64_t own = place[order[size_t(row)]];
      MT_CHECK(own >= 0 && own < count, "rowIdx holds ", own, ", wanted 0 to ", count - 1);
      in_order[row] = expert[order[size_t(row)]];
      rows[own] = int32_t(row);
      if (row < to.sizes[0])
        std::memcpy(target.view().as<char>() + size_t(row) * bytes,
                    source.view().as<char>() + size_t(own % tokens) * bytes, bytes);
    }
    target.store();
    rows.store();
    in_order.store();
  });
}

void MoeInitRoutingV2(Plan& plan, const aclTensor* x, const aclTensor* expertIdx, int64_t activeNumOptional,
                      int64_t expertCapacityOptional, int64_t expertNumOptional, int64_t dropPadModeOptional,
                      int64_t expertTokensCountOrCumsumFlagOptional,
                      bool expertTokensBeforeCapacityFlagOptional, const aclTensor* expandedXOut,
                      const aclTensor* expandedRowIdxOut,
                      const aclTensor* expertTokensCountOrCumsumOutOptional,
                      const aclTensor* expertTokensBeforeCapacityOutOptional) {
  Routing r;
  r.x = plan.input(x, "x"), r.experts = plan.input(expertIdx, "expertIdx");
  r.to = plan.output(expandedXOut, "expandedXOut"),
  r.index = plan.output(expandedRowIdxOut, "expandedRowIdxOut");
  const bool pads = dropPadModeOptional == 1;
  const int64_t kind = pads ? 0 : expertTokensCountOrCumsumFlagOptional;
  if (dropPadModeOptional < 0 || dropPadModeOptional > 1)
    plan.invalid("dropPadMode is ", dropPadModeOptional, ", wanted 0 or 1");
  if (kind < 0 || kind > 2) plan.invalid("expertTokensCountOrCumsumFlag is ", kind, ", wanted 0 to 2");
  if (pads && (expertCapacityOptional < 1 || expertNumOptional < 1))
    plan.invalid("dropPadMode 1 wants expertCapacity and expertNum, got ", expertCapacityOptional, " and ",
                 expertNumOptional);
  r.counts =
      masked_output(plan, expertTokensCountOrCumsumOutOptional, "expertTokensCountOrCumsumOut", kind != 0);
  r.before_capacity =
      masked_output(plan, expertTokensBeforeCapacityOutOptional, "expertTokensBeforeCapacityOut",
                    pads && expertTokensBeforeCapacityFlagOptional);
  r.capacity = pads ? expertCapacityOptional : 0;
  r.kind = kind == 1 ? Counts::cumulative : Counts::single;
  check(plan, r, expertNumOptional);
  for (const auto& [operand, name] : {std::pair{&r.counts, "expertTokensCountOrCumsumOut"},
                                      std::pair{&r.before_capacity, "expertTokensBeforeCapacityOut"}})
    if (*operand) plan.require_shape(**operand, name, {expertNumOptional});
  if (r.counts || pads) r.end = expertNumOptional;
  plan.run([call = std::make_shared<const Routing>(r)](const aclOpExecutor& e) { run(*call, e); });
}

void MoeInitRoutingV3(Plan& plan, const aclTensor* x, const aclTensor* expertIdx,
                      const aclTensor* scaleOptional, const aclTensor* offsetOptional, int64_t activeNum,
                      int64_t expertCapacity, int64_t expertNum, int64_t dropPadMode,
                      int64_t expertTokensNumType, bool expertTokensNumFlag, int64_t quantMode,
                      const aclIntArray* activeExpertRangeOptional, int64_t rowIdxType,
                      const aclTensor* expandedXOut, const aclTensor* expandedRowIdxOut,
                      const aclTensor* expertTokensCountOrCumsumOut, const aclTensor* expandedScaleOut) {
  Routing r;
  r.x = plan.input(x, "x"), r.experts = plan.input(expertIdx, "expertIdx");
  r.scale = unless_empty(plan.optional_input(scaleOptional, "scale"));
  r.offset = unless_empty(plan.optional_input(offsetOptional, "offset"));
  r.to = plan.output(expandedXOut, "expandedXOut"),
  r.index = plan.output(expandedRowIdxOut, "expandedRowIdxOut");
  r.counts =
      masked_output(plan, expertTokensCountOrCumsumOut, "expertTokensCountOrCumsumOut", expertTokensNumFlag);
  r.row_scales = unless_empty(optional_output(plan, expandedScaleOut, "expandedScaleOut"));
  if (quantMode < -1 || quantMode > 1)
    plan.invalid("quantMode is ", quantMode, ", wanted -1 (none), 0 (static) or 1 (dynamic)");
  if (dropPadMode < 0 || dropPadMode > 1) plan.invalid("dropPadMode is ", dropPadMode, ", wanted 0 or 1");
  if (expertTokensNumType < 0 || expertTokensNumType > 2)
    plan.invalid("expertTokensNumType is ", expertTokensNumType, ", wanted 0 to 2");
  if (rowIdxType < 0 || rowIdxType > 1) plan.invalid("rowIdxType is ", rowIdxType, ", wanted 0 or 1");
  if (expertNum < 1) plan.invalid("expertNum is ", expertNum, ", wanted at least 1");
  r.quantisation = quantMode < 0    ? Quantisation::none
                   : quantMode == 0 ? Quantisation::fixed
                                    : Quantisation::dynamic;
  const std::vector<int64_t> range = optional_list(activeExpertRangeOptional);
  r.end = expertNum;
  if (range.size() == 2) r.first = range[0], r.end = range[1];
  if ((!range.empty() && range.size() != 2) || r.first < 0 || r.end > expertNum || r.first > r.end)
    plan.invalid("activeExpertRange must be two numbers from 0 to ", expertNum);
  if (dropPadMode == 1) {
    if (expertCapacity < 1) plan.invalid("expertCapacity is ", expertCapacity, ", wanted at least 1");
    if (rowIdxType == 1 || r.first != 0 || r.end != expertNum)
      plan.invalid("dropPadMode 1 wants all experts and rowIdxType 0");
    r.capacity = expertCapacity;
  }
  r.kind = expertTokensNumType == 0   ? Counts::cumulative
           : expertTokensNumType == 1 ? Counts::single
                                      : Counts::pairs;
  r.index_of_rows = rowIdxType == 1;
  check(plan, r, expertNum);
  if (r.counts) {
    plan.require_dtype(*r.counts, "expertTokensCountOrCumsumOut", k::dtype_set(DType::int64));
    if (r.kind == Counts::pairs)
      plan.require_shape(*r.counts, "expertTokensCountOrCumsumOut", {expertNum, 2});
    else plan.require_shape(*r.counts, "expertTokensCountOrCumsumOut", {r.end - r.first});
  }
  if (r.quantisation == Quantisation::none && r.scale) plan.require_shape(*r.scale, "scale", {r.x.sizes[0]});
  if (r.quantisation == Quantisation::fixed) {
    if (!r.scale || !r.offset) plan.null_argument("scale or offset");
    if (r.scale->numel() != 1 || r.offset->numel() != 1)
      plan.invalid("tensors 'scale' and 'offset' have shapes ", shape_text(*r.scale), " and ",
                   shape_text(*r.offset), ", wanted one number");
  }
  if (r.quantisation == Quantisation::dynamic && r.scale) {
    plan.require_ndim(*r.scale, "scale", 2);
    plan.require_shape(*r.scale, "scale", {r.scale->sizes[0] == 1 ? 1 : r.end - r.first, r.x.sizes[1]});
  }
  const bool scales_rows =
      r.quantisation == Quantisation::dynamic || (r.quantisation == Quantisation::none && r.scale);
  if (!scales_rows) r.row_scales.reset();
  plan.run([call = std::make_shared<const Routing>(r)](const aclOpExecutor& e) { run(*call, e); });
}

void MoeFinalizeRouting(Plan& plan, const aclTensor* expandedX, const aclTensor* x1,
                        const aclTensor* x2Optional, const aclTensor* bias, const aclTensor* scales,
                        const aclTensor* expandedRowIdx, const aclTensor* expandedExpertIdx,
                        const aclTensor* out) {
  const Operand rows = plan.input(expandedX, "expandedX"), first = plan.input(x1, "x1");
  const std::optional<Operand> second = unless_empty(plan.optional_input(x2Optional, "x2"));
  const Operand added = plan.input(bias, "bias"), weights = plan.input(scales, "scales"),
                index = plan.input(expandedRowIdx, "expandedRowIdx"),
                experts = plan.input(expandedExpertIdx, "expandedExpertIdx"), to = plan.output(out, "out");
  finalize(plan, rows, first, second, added, weights, index, experts, true, to);
}
void MoeFinalizeRoutingV2(Plan& plan, const aclTensor* expandedX, const aclTensor* expandedRowIdx,
                          const aclTensor* x1Optional, const aclTensor* x2Optional,
                          const aclTensor* biasOptional, const aclTensor* scalesOptional,
                          const aclTensor* expertIdxOptional, int64_t dropPadMode, const aclTensor* out) {
  const Operand rows = plan.input(expandedX, "expandedX"),
                index = plan.input(expandedRowIdx, "expandedRowIdx");
  const std::optional<Operand> first = unless_empty(plan.optional_input(x1Optional, "x1")),
                               second = unless_empty(plan.optional_input(x2Optional, "x2")),
                               added = unless_empty(plan.optional_input(biasOptional, "bias")),
                               weights = unless_empty(plan.optional_input(scalesOptional, "scales")),
                               experts = unless_empty(plan.optional_input(expertIdxOptional, "expertIdx"));
  const Operand to = plan.output(out, "out");
  if (dropPadMode < 0 || dropPadMode > 3) plan.invalid("dropPadMode is ", dropPadMode, ", wanted 0 to 3");
  if (second && !first) plan.null_argument("x1");
  finalize(plan, rows, first, second, added, weights, index, experts, dropPadMode < 2, to);
}

// Experts that copy, scale or drop their tokens are not there yet.
void MoeFinalizeRoutingV4(Plan& plan, const aclTensor* expandedX, const aclTensor* expandedRowIdx,
                          const aclTensor* x1Optional, const aclTensor* x2Optional,
                          const aclTensor* biasOptional, const aclTensor* scalesOptional,
                          const aclTensor* expertIdxOptional, const aclTensor* xOptional,
                          const aclTensor* a1Optional, const aclTensor* a2Optional,
                          const aclTensor* vOptional, int64_t dropPadMode, const aclIntArray* zeroExpertRange,
                          const aclIntArray* copyExpertRange, const aclIntArray* constantExpertRange,
                          int64_t k, const aclTensor* out) {
  for (const aclIntArray* range : {zeroExpertRange, copyExpertRange, constantExpertRange}) {
    const std::vector<int64_t> experts = optional_list(range);
    if (!experts.empty() && experts.front() != experts.back())
      plan.invalid("zero, copy and constant experts are not supported by the software NPU");
  }
  if (k > 1 && scalesOptional == nullptr)
    plan.invalid("k is ", k, " without 'scales', the software NPU supports 1");
  MoeFinalizeRoutingV2(plan, expandedX, expandedRowIdx, x1Optional, x2Optional, biasOptional, scalesOptional,
                       expertIdxOptional, dropPadMode, out);
}

// How many rows the experts up to each one have.
void MoeComputeExpertTokens(Plan& plan, const aclTensor* sortedExperts, int64_t numExperts,
                            const aclTensor* out) {
  const Operand from = plan.input(sortedExperts, "sortedExperts"), to = plan.output(out, "out");
  plan.require_ndim(from, "sortedExperts", 1);
  plan.require_dtype(from, "sortedExperts", kInt32);
  plan.require_dtype(to, "out", kInt32);
  if (numExperts < 1) plan.invalid("numExperts is ", numExperts, ", wanted at least 1");
  plan.require_shape(to, "out", {numExperts});
  plan.run([=](const aclOpExecutor& e) {
    const k::DenseInput<int32_t> experts(from.view(e));
    const k::DenseOutput<int32_t> ends(to.view(e));
    for (int64_t expert = 0; expert < numExperts; ++expert)
      ends[expert] =
          int32_t(std::upper_bound(experts.data(), experts.data() + experts.numel(), int32_t(expert)) -
                  experts.data());
    ends.store();
  });
}

// Rows that came rank by rank, each with its experts in order, are laid out expert by expert.
void MoeReRouting(Plan& plan, const aclTensor* tokens, const aclTensor* expertTokenNumPerRank,
                  const aclTensor* perTokenScalesOptional, int64_t expertTokenNumType, int64_t idxType,
                  const aclTensor* permuteTokensOut, const aclTensor* permutePerTokenScalesOut,
                  const aclTensor* permuteTokenIdxOut, const aclTensor* expertTokenNumOut) {
  const Operand from = plan.input(tokens, "tokens"),
                counts = plan.input(expertTokenNumPerRank, "expertTokenNumPerRank");
  const std::optional<Operand> scales =
      unless_empty(plan.optional_input(perTokenScalesOptional, "perTokenScales"));
  const Operand to = plan.output(permuteTokensOut, "permuteTokensOut");
  const std::optional<Operand> to_scales =
      masked_output(plan, permutePerTokenScalesOut, "permutePerTokenScalesOut", scales.has_value());
  const Operand index = plan.output(permuteTokenIdxOut, "permuteTokenIdxOut"),
                totals = plan.output(expertTokenNumOut, "expertTokenNumOut");
  plan.require_ndim(from, "tokens", 2);
  plan.require_ndim(counts, "expertTokenNumPerRank", 2);
  plan.require_dtype(counts, "expertTokenNumPerRank", k::dtype_set(DType::int32, DType::int64));
  plan.require_same_shape(from, "tokens", to, "permuteTokensOut");
  plan.require_same_dtype(from, "tokens", to, "permuteTokensOut");
  plan.require_dtype(index, "permuteTokenIdxOut", kInt32);
  plan.require_shape(index, "permuteTokenIdxOut", {from.sizes[0]});
  plan.require_shape(totals, "expertTokenNumOut", {counts.sizes[1]});
  if (scales) {
    plan.require_shape(*scales, "perTokenScales", {from.sizes[0]});
    plan.require_same_shape(*to_scales, "permutePerTokenScalesOut", *scales, "perTokenScales");
  }
  if (expertTokenNumType != 1)
    plan.invalid("expertTokenNumType is ", expertTokenNumType, ", the software NPU supports 1 (counts)");
  if (idxType != 0) plan.invalid("idxType is ", idxType, ", the software NPU supports 0");
  plan.run([=](const aclOpExecutor& e) {
    const k::DenseInput<int64_t> per_rank(counts.view(e));
    const k::Dense source(from.view(e), from.dtype, k::Access::read),
        target(to.view(e), to.dtype, k::Access::write);
    const OptionalDense scale(scales, e, k::Access::read, DType::float32),
        to_scale(to_scales, e, k::Access::write, DType::float32);
    const k::DenseOutput<int32_t> places(index.view(e));
    const k::DenseOutput<int64_t> sums(totals.view(e));
    const int64_t ranks = counts.sizes[0], experts = counts.sizes[1], rows = from.sizes[0];
    std::vector<int64_t> starts;
    int64_t total = 0;
    for (int64_t i = 0; i < ranks * experts; ++i) starts.push_back(total), total += per_rank[i];
    MT_CHECK(total <= rows, "expertTokenNumPerRank counts ", total, " tokens, but there are ", rows);
    const size_t bytes = size_t(from.sizes[1]) * mt::itemsize(from.dtype);
    std::memset(target.view().as<char>(), 0, size_t(rows) * bytes);
    places.fill(0);
    if (to_scale.get()) std::fill_n(to_scale.get()->as<float>(), rows, 0.0f);
    int64_t next = 0;
    for (int64_t expert = 0; expert < experts; ++expert) {
      sums[expert] = 0;
      for (int64_t rank = 0; rank < ranks; ++rank) {
        const int64_t at = rank * experts + expert;
        sums[expert] += per_rank[at];
        for (int64_t i = 0; i < per_rank[at]; ++i, ++next) {
          const int64_t row = starts[size_t(at)] + i;
          places[next] = int32_t(row);
          std::memcpy(target.view().as<char>() + size_t(next) * bytes,
                      source.view().as<char>() + size_t(row) * bytes, bytes);
          if (scale.get()) to_scale.get()->as<float>()[next] = scale.get()->as<float>()[row];
        }
      }
    }
    target.store();
    to_scale.store();
    places.store();
    sums.store();
  });
}

}  // namespace softnpu::ops
