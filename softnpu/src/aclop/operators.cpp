// The operators of the old interface that torch_npu still uses, each by ACLNN operators.
#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "aclop/call.h"
#include "aclop/recurrent.h"

namespace softnpu::aclop {
namespace {

// A copy that converts between data types. TransData and Identity only change how data lies on a card; here
// it is always plain. BroadcastTo repeats what has fewer dimensions than the output.
void copy(const Call& call) {
  call.run(aclnnInplaceCopyGetWorkspaceSize, aclnnInplaceCopy, call.output(0), call.input(0));
}

// x, size, stride, storage_offset -> y
void as_strided(const Call& call) {
  const std::vector<int64_t> offset = call.integers(3);
  const Tensor view =
      call.input_as(0, call.integers(1), call.integers(2), offset.empty() ? 0 : offset.front());
  call.run(aclnnInplaceCopyGetWorkspaceSize, aclnnInplaceCopy, call.output(0), view);
}

// dst, dst_size, dst_stride, dst_storage_offset, src, src_size, src_stride, src_storage_offset -> dst
void view_copy(const Call& call) {
  const std::vector<int64_t> to_offset = call.integers(3), from_offset = call.integers(7);
  const Tensor to =
      call.output_as(0, call.integers(1), call.integers(2), to_offset.empty() ? 0 : to_offset.front());
  const Tensor from =
      call.input_as(4, call.integers(5), call.integers(6), from_offset.empty() ? 0 : from_offset.front());
  call.run(aclnnInplaceCopyGetWorkspaceSize, aclnnInplaceCopy, to, from);
}

// The sizes and steps of a contiguous input, to be rearranged into a view of it.
struct View {
  View(const Call& call, size_t index) : sizes(call.input_desc(index).sizes), strides(contiguous(sizes)) {}
  static std::vector<int64_t> contiguous(const std::vector<int64_t>& sizes) {
    std::vector<int64_t> strides(sizes.size(), 1);
    for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
    return strides;
  }

  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;
};

void copy_view(const Call& call, const View& view) {
  call.run(aclnnInplaceCopyGetWorkspaceSize, aclnnInplaceCopy, call.output(0),
           call.input_as(0, view.sizes, view.strides, view.offset));
}

View permuted(const Call& call, const View& from, const std::vector<int64_t>& order) {
  View view = from;
  if (order.size() != from.sizes.size())
    call.refuse("an order of ", order.size(), " dimensions for a tensor of ", from.sizes.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] < 0 || size_t(order[i]) >= order.size()) call.refuse("there is no dimension ", order[i]);
    view.sizes[i] = from.sizes[size_t(order[i])];
    view.strides[i] = from.strides[size_t(order[i])];
  }
  return view;
}

// x, perm -> y
void transpose(const Call& call) { copy_view(call, permuted(call, View(call, 0), call.integers(1))); }

// A transposition before or after a change of shape, which the attributes describe.
void transpose_and_reshape(const Call& call) {
  const auto order = call.attribute("perm", std::vector<int64_t>());
  if (call.attribute("transpose_first", true)) {
    const View view = permuted(call, View(call, 0), order);
    const Tensor out = call.output_as(0, view.sizes, View::contiguous(view.sizes), 0);
    call.run(aclnnInplaceCopyGetWorkspaceSize, aclnnInplaceCopy, out,
             call.input_as(0, view.sizes, view.strides, 0));
    return;
  }
  View reshaped(call, 0);
  reshaped.sizes = call.attribute("shape", std::vector<int64_t>());
  reshaped.strides = View::contiguous(reshaped.sizes);
  copy_view(call, permuted(call, reshaped, order));
}

// x, begin, end, strides -> y. Masks, which leave out ends, come as attributes and are 0 in torch_npu's calls.
void strided_slice(const Call& call) {
  for (const char* mask : {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"})
    if (call.attribute(mask, int64_t(0)) != 0) call.refuse("attribute '", mask, "' is not 0");
  const std::vector<int64_t> begin = call.integers(1), end = call.integers(2), steps = call.integers(3);
  View view(call, 0);
  const size_t count = view.sizes.size();
  if (begin.size() != count || end.size() != count || steps.size() != count)
    call.refuse("begin, end and strides must have one number for each of ", count, " dimensions");
  for (size_t i = 0; i < count; ++i) {
    const int64_t size = view.sizes[i];
    auto place = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
    if (steps[i] < 1) call.refuse("a step of ", steps[i], ", wanted at least 1");
    const int64_t from = place(begin[i]), to = std::max(place(end[i]), from);
    view.offset += from * view.strides[i];
    view.sizes[i] = (to - from + steps[i] - 1) / steps[i];
    view.strides[i] *= steps[i];
  }
  copy_view(call, view);
}

// x, offsets, size -> y; a size of -1 reaches to the end.
void slice(const Call& call) {
  const std::vector<int64_t> offsets = call.integers(1), sizes = call.integers(2);
  View view(call, 0);
  if (offsets.size() != view.sizes.size() || sizes.size() != view.sizes.size())
    call.refuse("offsets and size must have one number for each of ", view.sizes.size(), " dimensions");
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t rest = view.sizes[i] - offsets[i], wanted = sizes[i] == -1 ? rest : sizes[i];
    if (offsets[i] < 0 || wanted < 0 || wanted > rest)
      call.refuse(wanted, " entries from ", offsets[i], " of dimension ", i, ", which has ", view.sizes[i]);
    view.offset += offsets[i] * view.strides[i];
    view.sizes[i] = wanted;
  }
  copy_view(call, view);
}

void reshape(const Call& call) {
  if (aclGetTensorDescElementCount(&call.input_desc(0)) != aclGetTensorDescElementCount(&call.output_desc(0)))
    call.refuse("the output has another number of elements than the input");
  View view(call, 0);
  view.sizes = call.output_desc(0).sizes;
  view.strides = View::contiguous(view.sizes);
  copy_view(call, view);
}

// dims, value -> y
void fill(const Call& call) {
  if (const Number value = call.host_number(1))
    call.run(aclnnInplaceFillScalarGetWorkspaceSize, aclnnInplaceFillScalar, call.output(0), value);
  else
    call.run(aclnnInplaceCopyGetWorkspaceSize, aclnnInplaceCopy, call.output(0), call.input_as(1, {}, {}, 0));
}

void mish(const Call& call) { call.run(aclnnMishGetWorkspaceSize, aclnnMish, call.input(0), call.output(0)); }

void swish(const Call& call) {
  call.run(aclnnSwishGetWorkspaceSize, aclnnSwish, call.input(0), number(call.attribute("scale", 1.0f)),
           call.output(0));
}

// The overflow flags of a card. Overflow here gives inf, as on a card in its INF/NAN mode, and sets no flag.
void float_status(const Call& call) {
  if (call.output_count() != 0)  // clearing has none
    call.run(aclnnInplaceZeroGetWorkspaceSize, aclnnInplaceZero, call.output(0));
}

constexpr int8_t kKeepDtype = 0;  // cubeMathType: the products of the software NPU have the CPU's precision

// x1, x2, bias (optional) -> y; either side may come transposed.
void product(const Call& call, const char* left_attribute, const char* right_attribute) {
  const Tensor left = call.attribute(left_attribute, false) ? call.transposed_input(0) : call.input(0);
  const Tensor right = call.attribute(right_attribute, false) ? call.transposed_input(1) : call.input(1);
  const Tensor out = call.output(0);
  call.run(aclnnMatmulGetWorkspaceSize, aclnnMatmul, left, right, out, kKeepDtype);
  if (!call.has_input(2)) return;
  call.run(aclnnInplaceAddGetWorkspaceSize, aclnnInplaceAdd, out, call.input(2), number(1));
}

void matmul(const Call& call) { product(call, "transpose_x1", "transpose_x2"); }
void batch_matmul(const Call& call) { product(call, "adj_x1", "adj_x2"); }

// The key and the counter of a Philox generator: shape, key, counter, alg -> y. Programs put the offset last.
struct Generator {
  explicit Generator(const Call& call) {
    const std::vector<int64_t> key = call.integers(1), counter = call.integers(2);
    if (key.empty() || counter.empty()) call.refuse("the key or the counter is empty");
    seed = key.front();
    offset = counter.back();
  }
  int64_t seed, offset;
};

void random_normal(const Call& call) {
  const Generator generator(call);
  call.run(aclnnInplaceNormalGetWorkspaceSize, aclnnInplaceNormal, call.output(0), 0.0f, 1.0f, generator.seed,
           generator.offset);
}

void random_uniform(const Call& call) {
  const Generator generator(call);
  call.run(aclnnInplaceUniformGetWorkspaceSize, aclnnInplaceUniform, call.output(0), 0.0, 1.0,
           uint64_t(generator.seed), uint64_t(generator.offset));
}

// Norms come in two halves: the sum of |x|^p, and its root. The largest and the smallest int stand for p = inf
// and -inf; for those, 0 and 1 the first half is the norm already.
struct Order {
  explicit Order(const Call& call) {
    const float given = call.attribute("p", 2.0f);
    constexpr float largest = float(INT32_MAX), smallest = float(INT32_MIN);
    p = given >= largest ? INFINITY : given <= smallest ? -INFINITY : double(given);
    has_root = std::isfinite(p) && p != 0 && p != 1;
  }
  double p;
  bool has_root;
};

void norm_sum(const Call& call) {
  const Order order(call);
  const std::vector<int64_t> axes = call.attribute("axes", std::vector<int64_t>());
  const IntArray dims(aclCreateIntArray(axes.data(), axes.size()));
  const Tensor out = call.output(0);
  call.run(aclnnLinalgVectorNormGetWorkspaceSize, aclnnLinalgVectorNorm, call.input(0), number(order.p), dims,
           call.attribute("keepdim", false), call.output_desc(0).type, out);
  if (order.has_root)
    call.run(aclnnInplacePowTensorScalarGetWorkspaceSize, aclnnInplacePowTensorScalar, out, number(order.p));
}

void norm_root(const Call& call) {
  const Order order(call);
  if (!order.has_root) return copy(call);
  call.run(aclnnPowTensorScalarGetWorkspaceSize, aclnnPowTensorScalar, call.input(0), number(1 / order.p),
           call.output(0));
}

// grad, x1, x2, cdist -> gradient of x1. All four come expanded to [..., P, R, M]: a distance of each of P points
// to each of R others, repeated for each of M coordinates.
void cdist_gradient(const Call& call) {
  const View whole(call, 0);
  const size_t count = whole.sizes.size();
  if (count < 3) call.refuse("input 0 has ", count, " dimensions, wanted at least 3");
  for (size_t i = 1; i < 4; ++i)
    if (call.input_desc(i).sizes != whole.sizes) call.refuse("input ", i, " has another shape than input 0");
  auto without = [&](size_t dim) {
    View view = whole;
    view.sizes.erase(view.sizes.begin() + ptrdiff_t(dim));
    view.strides.erase(view.strides.begin() + ptrdiff_t(dim));
    return view;
  };
  const View distances = without(count - 1), points = without(count - 2), others = without(count - 3);
  const Order order(call);
  call.run(aclnnCdistBackwardGetWorkspaceSize, aclnnCdistBackward,
           call.input_as(0, distances.sizes, distances.strides, 0),
           call.input_as(1, points.sizes, points.strides, 0),
           call.input_as(2, others.sizes, others.strides, 0),
           call.input_as(3, distances.sizes, distances.strides, 0), float(order.p), call.output(0));
}

}  // namespace

Operator find_operator(std::string_view type) {
  static const std::map<std::string_view, Operator> operators = {
      {"AsStrided", as_strided},
      {"BatchMatMul", batch_matmul},
      {"BatchMatMulV2", batch_matmul},
      {"BroadcastTo", copy},
      {"Cast", copy},
      {"CdistGrad", cdist_gradient},
      {"ConfusionTransposeD", transpose_and_reshape},
      {"DynamicGRUV2", dynamic_gru},
      {"DynamicGRUV2Grad", dynamic_gru_gradient},
      {"DynamicRNN", dynamic_rnn},
      {"DynamicRNNGrad", dynamic_rnn_gradient},
      {"DynamicRNNV2", dynamic_rnn_v2},
      {"DynamicRNNV2Grad", dynamic_rnn_v2_gradient},
      {"Fill", fill},
      {"Identity", copy},
      {"LpNormReduceV2", norm_sum},
      {"LpNormUpdateV2", norm_root},
      {"MatMul", matmul},
      {"MatMulV2", matmul},
      {"Mish", mish},
      {"NPUAllocFloatStatus", float_status},
      {"NPUClearFloatStatus", float_status},
      {"NPUClearFloatStatusV2", float_status},
      {"NPUGetFloatStatus", float_status},
      {"NPUGetFloatStatusV2", float_status},
      {"Reshape", reshape},
      {"Slice", slice},
      {"StatelessRandomNormalV2", random_normal},
      {"StatelessRandomUniformV2", random_uniform},
      {"StridedSlice", strided_slice},
      {"Swish", swish},
      {"TransData", copy},
      {"Transpose", transpose},
      {"ViewCopy", view_copy},
  };
  const auto found = operators.find(type);
  return found == operators.end() ? nullptr : found->second;
}

}  // namespace softnpu::aclop
