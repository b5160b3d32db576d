#include "generated/cuda/attention.h"

#include <algorithm>
#include <cmath>

#include "backends/cuda/dense.h"
#include "backends/cuda/device/attention_tile.h"
#include "backends/cuda/program.h"
#include "core/views.h"

namespace mt::cuda {
namespace {

constexpr int64_t kWidest = 128, kMostRows = 0x7fff0000;

// The width that kernels are made for, no less than the one given.
int dim_for(DType dtype, int64_t width) {
  return dtype == DType::float32 && width <= 32 ? 32 : width <= 64 ? 64 : 128;
}
// What the kernels for a dtype and width want.
struct KernelShapes {
  AttentionShape forward, keys, queries;
};
template <int kBytes, int kDim>
constexpr KernelShapes kShapes{kAttentionShape<ForwardTile<kBytes, kDim>>,
                               kAttentionShape<BackwardTile<kBytes, kDim, true>>,
                               kAttentionShape<BackwardTile<kBytes, kDim, false>>};
const KernelShapes& shapes_of(DType dtype, int dim) {
  if (dtype == DType::float32)
    return dim == 32 ? kShapes<4, 32> : dim == 64 ? kShapes<4, 64> : kShapes<4, 128>;
  return dim == 64 ? kShapes<2, 64> : kShapes<2, 128>;
}

bool takes(DType dtype, int64_t width) {
  return (dtype == DType::float32 || dtype == DType::float16 || dtype == DType::bfloat16) && width <= kWidest;
}

Places places(const Tensor& t) {
  Places made{};
  made.data = memory(t);
  for (size_t d = 0; d < 4; ++d) made.strides[d] = t.strides()[3 - d];
  return made;
}

// Whether rows may be moved 16 bytes at a time.
bool whole(const Tensor& t) {
  const auto size = int64_t(itemsize(t.dtype()));
  const IntList sizes = t.sizes(), strides = t.strides();
  if (reinterpret_cast<uintptr_t>(t.data()) % 16 || sizes[3] * size % 16 || strides[3] != 1) return false;
  for (size_t d = 0; d < 3; ++d)
    if (sizes[d] > 1 && strides[d] * size % 16) return false;
  return true;
}

struct Attention {
  AttentionCall call{};
  DType dtype;
  int dim;  // that the kernels are made for
  bool masked;
  Tensor mask;  // in its full size

  Attention(const Tensor& query, const Tensor& key, const Tensor& value, bool causal,
            const Tensor& given_mask, std::optional<double> scale)
      : dtype(query.dtype()), masked(given_mask.defined()) {
    const IntList q = query.sizes(), k = key.sizes(), v = value.sizes();
    MT_CHECK(takes(dtype, std::max(q[3], v[3])),
             "attention on GPUs takes float32, float16 and bfloat16 and heads of up to ", kWidest,
             " elements, but got ", c_name(dtype), " and ", std::max(q[3], v[3]),
             ": scaled_dot_product_attention has another way for them");
    dim = dim_for(dtype, std::max(q[3], v[3]));
    call.batch = q[0];
    call.heads = q[1];
    call.shared = k[1] == 0 ? 1 : q[1] / k[1];
    call.queries = q[2];
    call.keys = k[2];
    call.dim = int(q[3]);
    call.value_dim = int(v[3]);
    call.causal = causal;
    call.scale = scale.value_or(1.0 / std::sqrt(double(q[3])));
    if (masked) {
      mask = views::expand(given_mask, Dims{q[0], q[1], q[2], k[2]}, false);
      call.mask = places(mask);
      call.mask_hides = mask.dtype() == DType::boolean;
    }
    set(call.query, 0, query);
    set(call.key, 1, key);
    set(call.value, 2, value);
  }

  void set(Places& place, int bit, const Tensor& t) {
    place = places(t);
    call.whole |= int(whole(t)) << bit;
  }
  std::string text(const char* kernel, const char* more = "") const {
    return join_text(kernel, "<", type_text(dtype), ", ", dim, masked ? ", true" : ", false", more, ">");
  }
  uint64_t key() const { return key_of({int(dtype), dim / 32, masked}); }
  FamilyKernel kernel(const char* name, const AttentionShape& shape, const char* more = "") const {
    return {text(name, more), "AttentionCall", shape.threads, shape.blocks};
  }
  void launch(const Loaded& program, int entry, const char* name, const Place& place, int64_t heads,
              int64_t rows, const AttentionShape& shape) const {
    const int64_t count = heads * ((rows + shape.rows - 1) / shape.rows);
    MT_CHECK(count <= kMostBlocks && rows <= kMostRows, "attention over ", heads, " heads with ", rows,
             " rows each is more than a GPU takes at once; split the batch");
    if (count > 0)
      launch_with(program.entries[entry], name, place.index(), {unsigned(count)}, {unsigned(shape.threads)},
                  unsigned(shape.memory), call);
  }
};

}  // namespace

bool CudaAccelerator::fuses_attention(Device device, DType dtype, int64_t width) {
  if (!takes(dtype, width)) return false;
  if (device.type != kSlot) return true;  // meta: on a chip that has what it takes
  cuda::CudaDriver& chip = cuda::driver();
  const KernelShapes& shapes = shapes_of(dtype, dim_for(dtype, width));
  return chip.attribute(device.index, kMajor) >= 8 &&
         chip.attribute(device.index, kSharedOptIn) >=
             std::max({shapes.forward.memory, shapes.keys.memory, shapes.queries.memory});
}

void attention(const Tensor& query, const Tensor& key, const Tensor& value, double, bool is_causal,
               const Tensor& attn_mask, std::optional<double> scale, const Tensor& output,
               const Tensor& logsumexp) {
  Attention given(query, key, value, is_causal, attn_mask, scale);
  if (logsumexp.numel() == 0) return;
  given.set(given.call.out, 3, output);
  const DenseResult rows(logsumexp);
  given.call.logsumexp = static_cast<float*>(rows.data());
  const AttentionShape& shape = shapes_of(given.dtype, given.dim).forward;
  static Variants variants;
  const Place place(query);
  const Loaded& program =
      find_program(variants, given.key(), place, "attention.h", 1,
                   [&]() -> std::vector<FamilyKernel> { return {given.kernel("attention_forward", shape)}; });
  const AttentionCall& call = given.call;
  given.launch(program, 0, "attention", place, call.batch * call.heads, call.queries, shape);
  rows.finish();
}

void attention_backward(const Tensor& grad_out, const Tensor& query, const Tensor& key, const Tensor& value,
                        const Tensor& out, const Tensor& logsumexp, double, bool is_causal,
                        const Tensor& attn_mask, std::optional<double> scale, const Tensor& grad_query,
                        const Tensor& grad_key, const Tensor& grad_value) {
  Attention given(query, key, value, is_causal, attn_mask, scale);
  AttentionCall& call = given.call;
  const Tensor logarithms = dense(logsumexp);
  call.logsumexp = static_cast<float*>(memory(logarithms));
  given.set(call.out, 3, out);
  given.set(call.gradient, 4, grad_out);
  given.set(call.grad_query, 5, grad_query);
  given.set(call.grad_key, 6, grad_key);
  given.set(call.grad_value, 7, grad_value);
  const KernelShapes& shapes = shapes_of(given.dtype, given.dim);
  static Variants variants;
  const Place place(query);
  const Loaded& program =
      find_program(variants, given.key(), place, "attention.h", 3, [&]() -> std::vector<FamilyKernel> {
        return {{join_text("attention_prepared<", type_text(given.dtype), ">"), "AttentionCall", 128},
                given.kernel("attention_backward", shapes.keys, ", true"),
                given.kernel("attention_backward", shapes.queries, ", false")};
      });
  const int64_t heads = call.batch * call.heads, rows = heads * call.queries;
  const Scratch room(place, size_t(2 * rows) * sizeof(float));
  call.rows = static_cast<float*>(room.address());
  if (rows > 0)
    launch_with(program.entries[0], "attention_backward_rows", place.index(),
                {blocks_for(rows, 4 * kPreparedRows)}, {32, 4}, 0, call);
  given.launch(program, 1, "attention_backward_keys", place, heads / call.shared, call.keys, shapes.keys);
  given.launch(program, 2, "attention_backward_queries", place, heads, call.queries, shapes.queries);
}

}  // namespace mt::cuda
