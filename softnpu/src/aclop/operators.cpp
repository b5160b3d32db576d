// The operators of the old interface that torch_npu still uses, each by ACLNN operators.
#include <map>
#include <string_view>

#include "aclop/call.h"

namespace softnpu::aclop {
namespace {

// A copy that converts between data types. TransData and Identity only change how data lies on a card; here
// it is always plain.
void copy(const Call& call) {
  call.run(aclnnInplaceCopyGetWorkspaceSize, aclnnInplaceCopy, call.output(0), call.input(0));
}

void reshape(const Call& call) {
  const std::vector<int64_t>& sizes = call.output_desc(0).sizes;
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
  if (aclGetTensorDescElementCount(&call.input_desc(0)) != aclGetTensorDescElementCount(&call.output_desc(0)))
    call.refuse("the output has another number of elements than the input");
  call.run(aclnnInplaceCopyGetWorkspaceSize, aclnnInplaceCopy, call.output(0),
           call.input_as(0, sizes, strides, 0));
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

}  // namespace

Operator find_operator(std::string_view type) {
  static const std::map<std::string_view, Operator> operators = {
      {"AsStrided", as_strided},
      {"BatchMatMul", batch_matmul},
      {"BatchMatMulV2", batch_matmul},
      {"Cast", copy},
      {"Identity", copy},
      {"MatMul", matmul},
      {"MatMulV2", matmul},
      {"Reshape", reshape},
      {"StatelessRandomNormalV2", random_normal},
      {"StatelessRandomUniformV2", random_uniform},
      {"TransData", copy},
      {"ViewCopy", view_copy},
  };
  const auto found = operators.find(type);
  return found == operators.end() ? nullptr : found->second;
}

}  // namespace softnpu::aclop
