// Many products in one call: groups of rows with a weight each (experts), or groups of the inner dimension.
#include "kernels/common/copy.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/quantized.h"
#include "op_plans.h"
#include "ops/common/temporary.h"
#include "ops/common/views.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

// Where groups end: numbers of the host, or a tensor of ends (type 0), of sizes (1) or of pairs of group and size (2).
struct GroupList {
  std::vector<int64_t> ends;
  std::optional<Operand> tensor;
  int64_t type = 0;
  bool given = false;

  static GroupList of(const aclIntArray* array, const Plan& plan) {
    GroupList list;
    list.given = array != nullptr && array->values.size() > 0;
    if (list.given) list.ends = plan.integers(array, "groupListOptional");
    return list;
  }
  static GroupList of(Plan& plan, const aclTensor* tensor, int64_t type) {
    GroupList list;
    list.tensor = plan.optional_input(tensor, "groupListOptional");
    list.given = list.tensor.has_value();
    list.type = type;
    if (type < 0 || type > 2)
      plan.invalid("groupListType is ", type, ", wanted 0 (ends), 1 (sizes) or 2 (pairs)");
    if (!list.given) return list;
    plan.require_dtype(*list.tensor, "groupListOptional", k::dtype_set(DType::int64));
    plan.require_ndim(*list.tensor, "groupListOptional", type == 2 ? 2 : 1);
    if (type == 2 && list.tensor->sizes[1] != 2)
      plan.invalid("groupListOptional has shape ", shape_text(*list.tensor));
    return list;
  }
  int64_t count() const { return tensor ? tensor->sizes[0] : int64_t(ends.size()); }

  struct Group {
    int64_t which, start, end;
  };
  // The groups in their order; together they have at most `total` entries.
  std::vector<Group> read(const aclOpExecutor& e, int64_t total) const {
    std::vector<Group> groups;
    std::optional<ReadAs> numbers;
    if (tensor) numbers.emplace(tensor->view(e), DType::int64);
    const int64_t* values = tensor ? numbers->view().as<int64_t>() : ends.data();
    int64_t start = 0;
    for (int64_t i = 0; i < count(); ++i) {
      const int64_t end = type == 0 ? values[i] : start + values[type == 2 ? 2 * i + 1 : i];
      MT_CHECK(end >= start && end <= total, "group ", i, " goes from ", start, " to ", end, " of ", total);
      groups.push_back({type == 2 ? values[2 * i] : i, start, end});
      start = end;
    }
    return groups;
  }
};

struct Lists {
  std::vector<Operand> x, weight, bias, scale, per_token, out;
};

std::vector<Operand> optional_list(Plan& plan, const aclTensorList* list, const char* name) {
  if (list != nullptr) return plan.inputs(list, name);
  plan.optional_input(nullptr, name);
  return {};
}

void refuse_list(Plan& plan, const aclTensorList* list, const char* name) {
  for (const Operand& operand : optional_list(plan, list, name))
    if (operand.numel() != 0) plan.invalid("'", name, "' is not supported, wanted NULL");
}

// The part of a list that belongs to a group: an entry, or a row of the only one.
std::optional<Operand> part_of(const std::vector<Operand>& list, int64_t group, int64_t groups) {
  if (list.empty() || list[0].numel() == 0) return std::nullopt;
  if (int64_t(list.size()) == groups && groups > 1) return list[size_t(group)];
  Operand only = list[0];
  if (only.ndim == 2 && only.sizes[0] == groups) only = without_dim(sliced(only, 0, group, 1), 0);
  return only;
}

void multiply(const aclOpExecutor& e, const Operand& x, const Operand& weight,
              const std::optional<Operand>& bias, const std::optional<Operand>& scale,
              const std::optional<Operand>& per_token, const Operand& out) {
  if (out.numel() == 0) return;
  const View result = out.view(e);
  if (x.dtype == DType::int8) {
    const View added = bias ? bias->view(e) : View{}, columns = scale ? scale->view(e) : View{},
               rows = per_token ? per_token->view(e) : View{};
    k::integer_product(x.view(e), weight.view(e), bias ? &added : nullptr, scale ? &columns : nullptr,
                       per_token ? &rows : nullptr, result);
    return;
  }
  if (bias) k::copy(bias->view(e), result);
  k::gemm(x.view(e), weight.view(e), result, Scalar(1), Scalar(bias ? 1 : 0));
}

void require_factors(const Plan& plan, const Operand& x, const Operand& weight, const Operand& out) {
  plan.require_ndim(x, "x", 2);
  plan.require_dtype(x, "x", domains::floating | k::dtype_set(DType::int8));
  plan.require_same_dtype(weight, "weight", x, "x");
  if (x.dtype == DType::int8) plan.require_dtype(out, "out", domains::floating | k::dtype_set(DType::int32));
  else plan.require_same_dtype(out, "out", x, "x");
}

// Groups of rows, or (without a list) one group for every tensor.
void group_rows(Plan& plan, const Lists& lists, const GroupList& groups) {
  const std::vector<Operand>&x = lists.x, &weight = lists.weight, &out = lists.out;
  const bool one_weight = weight.size() == 1 && weight[0].ndim == 3;
  const int64_t count = one_weight ? weight[0].sizes[0] : int64_t(weight.size());
  const bool one_x = x.size() == 1, one_out = out.size() == 1;
  const bool list_fits = groups.given ? groups.type == 2 || groups.count() == count : count == 1;
  if ((!one_x && int64_t(x.size()) != count) || (!one_out && int64_t(out.size()) != count) ||
      (one_x && !list_fits))
    plan.invalid("there are ", x.size(), " inputs, ", count, " weights, ", out.size(), " results and ",
                 groups.count(), " groups, which do not belong together");
  auto weight_of = [=](int64_t i) {
    return one_weight ? without_dim(sliced(weight[0], 0, i, 1), 0) : weight[size_t(i)];
  };
  for (int64_t i = 0; i < count; ++i) {
    const Operand &rows = x[one_x ? 0 : size_t(i)], &to = out[one_out ? 0 : size_t(i)], factor = weight_of(i);
    require_factors(plan, rows, factor, to);
    if (factor.ndim != 2 || to.ndim != 2 || rows.sizes[1] != factor.sizes[0] ||
        to.sizes[1] != factor.sizes[1] || (!one_x && !one_out && to.sizes[0] != rows.sizes[0]))
      plan.invalid("group ", i, ": shapes ", shape_text(rows), " and ", shape_text(factor),
                   " do not multiply to ", shape_text(to));
    const auto bias = part_of(lists.bias, i, count), scale = part_of(lists.scale, i, count);
    if (bias) plan.require_shape(*bias, "bias", {factor.sizes[1]});
    if (scale && scale->numel() != 1) plan.require_shape(*scale, "scale", {factor.sizes[1]});
  }
  if (one_x && !lists.per_token.empty() && lists.per_token[0].numel() != 0)
    plan.require_shape(lists.per_token[0], "perTokenScale", {x[0].sizes[0]});
  plan.run([=](const aclOpExecutor& e) {
    std::vector<GroupList::Group> parts;
    if (one_x && groups.given) parts = groups.read(e, x[0].sizes[0]);
    else
      for (int64_t i = 0, start = 0; i < count; ++i) {
        const int64_t rows = x[one_x ? 0 : size_t(i)].sizes[0];
        parts.push_back({i, start, start + rows});
        start += rows;
      }
    for (const auto& [i, start, end] : parts) {
      MT_CHECK(i >= 0 && i < count, "group ", i, " of ", count);
      const int64_t rows = end - start;
      const Operand from = one_x ? sliced(x[0], 0, start, rows) : x[size_t(i)];
      MT_CHECK(!one_out || end <= out[0].sizes[0], "the result has ", out[0].sizes[0], " rows, wanted ", end);
      const Operand to = one_out ? sliced(out[0], 0, start, rows) : out[size_t(i)];
      MT_CHECK(to.sizes[0] == rows, "result ", i, " has ", to.sizes[0], " rows, wanted ", rows);
      std::optional<Operand> tokens;
      if (!lists.per_token.empty() && lists.per_token[0].numel() != 0)
        tokens = one_x ? sliced(lists.per_token[0], 0, start, rows) : lists.per_token[size_t(i)];
      multiply(e, from, weight_of(i), part_of(lists.bias, i, count), part_of(lists.scale, i, count), tokens,
               to);
    }
  });
}

// Groups of the inner dimension: result i is x[:, group i] @ weight[group i].
void group_depth(Plan& plan, const Lists& lists, const GroupList& groups) {
  if (lists.x.size() != 1 || lists.weight.size() != 1 || !groups.given)
    plan.invalid("groups of the inner dimension want one input, one weight and a list of groups");
  const Operand x = lists.x[0], weight = lists.weight[0];
  plan.require_ndim(weight, "weight", 2);
  const int64_t count = groups.count();
  const bool one_out = lists.out.size() == 1 && lists.out[0].ndim == 3;
  if ((one_out && lists.out[0].sizes[0] != count) || (!one_out && int64_t(lists.out.size()) != count))
    plan.invalid("there are ", count, " groups but results for ",
                 one_out ? lists.out[0].sizes[0] : int64_t(lists.out.size()));
  auto out_of = [=, out = lists.out](int64_t i) {
    return one_out ? without_dim(sliced(out[0], 0, i, 1), 0) : out[size_t(i)];
  };
  for (int64_t i = 0; i < count; ++i) {
    require_factors(plan, x, weight, out_of(i));
    plan.require_shape(out_of(i), "out", {x.sizes[0], weight.sizes[1]});
  }
  if (x.sizes[1] != weight.sizes[0])
    plan.invalid("shapes ", shape_text(x), " and ", shape_text(weight), " cannot be multiplied");
  plan.run([=](const aclOpExecutor& e) {
    for (const auto& [i, start, end] : groups.read(e, x.sizes[1])) {
      MT_CHECK(i >= 0 && i < count, "group ", i, " of ", count);
      const Operand left = sliced(x, 1, start, end - start), right = sliced(weight, 0, start, end - start);
      multiply(e, left, right, std::nullopt, std::nullopt, std::nullopt, out_of(i));
    }
  });
}

void grouped(Plan& plan, const Lists& lists, const GroupList& groups, int64_t split_item,
             int64_t group_type) {
  if (split_item < 0 || split_item > 3) plan.invalid("splitItem is ", split_item, ", wanted 0 to 3");
  if (lists.x.empty() || lists.weight.empty() || lists.out.empty())
    plan.invalid("a list of tensors is empty");
  if (group_type == 2) return group_depth(plan, lists, groups);
  if (group_type != -1 && group_type != 0)
    plan.invalid("groupType is ", group_type, ", wanted -1 (none), 0 (rows) or 2 (inner dimension)");
  group_rows(plan, lists, groups);
}

struct Optional {
  const aclTensorList *bias, *scale, *offset, *antiquant_scale, *antiquant_offset;
};

Lists take_lists(Plan& plan, const aclTensorList* x, const aclTensorList* weight, const Optional& more) {
  Lists lists;
  lists.x = plan.inputs(x, "x");
  lists.weight = plan.inputs(weight, "weight");
  lists.bias = optional_list(plan, more.bias, "biasOptional");
  lists.scale = optional_list(plan, more.scale, "scaleOptional");
  refuse_list(plan, more.offset, "offsetOptional");
  refuse_list(plan, more.antiquant_scale, "antiquantScaleOptional");
  refuse_list(plan, more.antiquant_offset, "antiquantOffsetOptional");
  return lists;
}

// The form of the later versions.
struct Activation {
  const aclTensorList *input, *scale, *offset, *feature, *dynamic_scale;
  int64_t type;
};
void grouped_with_tokens(Plan& plan, Lists lists, const aclTensorList* per_token, const aclTensor* group_list,
                         const Activation& activation, int64_t split_item, int64_t group_type,
                         int64_t group_list_type, const aclTensorList* out) {
  lists.per_token = optional_list(plan, per_token, "perTokenScaleOptional");
  const GroupList groups = GroupList::of(plan, group_list, group_list_type);
  refuse_list(plan, activation.input, "activationInputOptional");
  refuse_list(plan, activation.scale, "activationQuantScaleOptional");
  refuse_list(plan, activation.offset, "activationQuantOffsetOptional");
  if (activation.type != 0) plan.invalid("actType is ", activation.type, ", wanted 0 (none)");
  lists.out = plan.outputs(out, "out");
  grouped(plan, lists, groups, split_item, group_type);
}

}  // namespace

void GroupedMatmul(Plan& plan, const aclTensorList* x, const aclTensorList* weight,
                   const aclTensorList* biasOptional, const aclTensorList* scaleOptional,
                   const aclTensorList* offsetOptional, const aclTensorList* antiquantScaleOptional,
                   const aclTensorList* antiquantOffsetOptional, const aclIntArray* groupListOptional,
                   int64_t splitItem, const aclTensorList* y) {
  Lists lists = take_lists(
      plan, x, weight,
      {biasOptional, scaleOptional, offsetOptional, antiquantScaleOptional, antiquantOffsetOptional});
  lists.out = plan.outputs(y, "y");
  grouped(plan, lists, GroupList::of(groupListOptional, plan), splitItem, -1);
}
void GroupedMatmulV2(Plan& plan, const aclTensorList* x, const aclTensorList* weight,
                     const aclTensorList* biasOptional, const aclTensorList* scaleOptional,
                     const aclTensorList* offsetOptional, const aclTensorList* antiquantScaleOptional,
                     const aclTensorList* antiquantOffsetOptional, const aclIntArray* groupListOptional,
                     int64_t splitItem, int64_t groupType, const aclTensorList* y) {
  Lists lists = take_lists(
      plan, x, weight,
      {biasOptional, scaleOptional, offsetOptional, antiquantScaleOptional, antiquantOffsetOptional});
  lists.out = plan.outputs(y, "y");
  grouped(plan, lists, GroupList::of(groupListOptional, plan), splitItem, groupType);
}
void GroupedMatmulV3(Plan& plan, const aclTensorList* x, const aclTensorList* weight,
                     const aclTensorList* biasOptional, const aclTensorList* scaleOptional,
                     const aclTensorList* offsetOptional, const aclTensorList* antiquantScaleOptional,
                     const aclTensorList* antiquantOffsetOptional, const aclTensor* groupListOptional,
                     int64_t splitItem, int64_t groupType, const aclTensorList* y) {
  Lists lists = take_lists(
      plan, x, weight,
      {biasOptional, scaleOptional, offsetOptional, antiquantScaleOptional, antiquantOffsetOptional});
  const GroupList groups = GroupList::of(plan, groupListOptional, 0);
  lists.out = plan.outputs(y, "y");
  grouped(plan, lists, groups, splitItem, groupType);
}

#define SOFTNPU_GROUPED_INPUTS                                                                         \
  const aclTensorList *x, const aclTensorList *weight, const aclTensorList *biasOptional,              \
      const aclTensorList *scaleOptional, const aclTensorList *offsetOptional,                         \
      const aclTensorList *antiquantScaleOptional, const aclTensorList *antiquantOffsetOptional,       \
      const aclTensorList *perTokenScaleOptional, const aclTensor *groupListOptional,                  \
      const aclTensorList *activationInputOptional, const aclTensorList *activationQuantScaleOptional, \
      const aclTensorList *activationQuantOffsetOptional, int64_t splitItem, int64_t groupType,        \
      int64_t groupListType, int64_t actType
#define SOFTNPU_GROUPED_OUTPUTS \
  aclTensorList *out, aclTensorList *activationFeatureOutOptional, aclTensorList *dynQuantScaleOutOptional
#define SOFTNPU_GROUPED_BODY                                                                                 \
  {                                                                                                          \
    grouped_with_tokens(                                                                                     \
        plan,                                                                                                \
        take_lists(                                                                                          \
            plan, x, weight,                                                                                 \
            {biasOptional, scaleOptional, offsetOptional, antiquantScaleOptional, antiquantOffsetOptional}), \
        perTokenScaleOptional, groupListOptional,                                                            \
        {activationInputOptional, activationQuantScaleOptional, activationQuantOffsetOptional,               \
         activationFeatureOutOptional, dynQuantScaleOutOptional, actType},                                   \
        splitItem, groupType, groupListType, out);                                                           \
  }

// The tuning configuration is a matter of speed; weights in a private format hold plain data here.
void GroupedMatmulV4(Plan& plan, SOFTNPU_GROUPED_INPUTS, SOFTNPU_GROUPED_OUTPUTS) SOFTNPU_GROUPED_BODY
    void GroupedMatmulV5(Plan& plan, SOFTNPU_GROUPED_INPUTS, aclIntArray*,
                         SOFTNPU_GROUPED_OUTPUTS) SOFTNPU_GROUPED_BODY
    void GroupedMatmulWeightNz(Plan& plan, SOFTNPU_GROUPED_INPUTS, aclIntArray*, int64_t,
                               SOFTNPU_GROUPED_OUTPUTS) SOFTNPU_GROUPED_BODY
#undef SOFTNPU_GROUPED_INPUTS
#undef SOFTNPU_GROUPED_OUTPUTS
#undef SOFTNPU_GROUPED_BODY

    // yRef += x^T's groups times the weight's: the gradient of weights, added to what is there.
    void GroupedMatmulAdd(Plan& plan, const aclTensor* x, const aclTensor* weight, const aclTensor* groupList,
                          aclTensor* yRef, bool transposeX, bool transposeWeight, int64_t groupType) {
  GroupedMatmulAddV2(plan, x, weight, groupList, yRef, transposeX, transposeWeight, groupType, 0);
}
void GroupedMatmulAddV2(Plan& plan, const aclTensor* x, const aclTensor* weight, const aclTensor* groupList,
                        aclTensor* yRef, bool transposeX, bool transposeWeight, int64_t groupType,
                        int64_t groupListType) {
  const Operand given = plan.input(x, "x"), factor = plan.input(weight, "weight");
  const GroupList groups = GroupList::of(plan, groupList, groupListType);
  const Operand to = plan.output(yRef, "yRef");
  if (groupType != 2) plan.invalid("groupType is ", groupType, ", wanted 2 (inner dimension)");
  if (!groups.given) plan.invalid("groupList is NULL");
  plan.require_ndim(given, "x", 2);
  plan.require_ndim(factor, "weight", 2);
  const Operand left = transposeX ? swapped(given, 0, 1) : given,
                right = transposeWeight ? swapped(factor, 0, 1) : factor;
  plan.require_dtype(left, "x", domains::floating);
  plan.require_same_dtype(right, "weight", left, "x");
  plan.require_dtype(to, "yRef", domains::floating);
  const int64_t count = groups.count();
  if (left.sizes[1] != right.sizes[0] || to.numel() != count * left.sizes[0] * right.sizes[1] ||
      !is_contiguous(to))
    plan.invalid("shapes ", shape_text(left), " and ", shape_text(right), " in ", count,
                 " groups do not add to ", shape_text(to));
  plan.run([=](const aclOpExecutor& e) {
    const int64_t sizes[] = {left.sizes[0], right.sizes[1]}, strides[] = {right.sizes[1], 1};
    const ReadAs a(left.view(e), to.dtype, false), b(right.view(e), to.dtype, false);
    for (const auto& [i, start, end] : groups.read(e, left.sizes[1])) {
      MT_CHECK(i >= 0 && i < count, "group ", i, " of ", count);
      const int64_t depth = end - start, item = item_bytes(to);
      if (depth == 0) continue;
      const int64_t a_sizes[] = {left.sizes[0], depth}, b_sizes[] = {depth, right.sizes[1]};
      const View first{a.view().as<char>() + start * a.view().strides[1] * item, a_sizes, a.view().strides, 2,
                       to.dtype};
      const View second{b.view().as<char>() + start * b.view().strides[0] * item, b_sizes, b.view().strides,
                        2, to.dtype};
      k::gemm(first, second,
              {to.view(e).as<char>() + i * sizes[0] * sizes[1] * item, sizes, strides, 2, to.dtype},
              Scalar(1), Scalar(1));
    }
  });
}

}  // namespace softnpu::ops
