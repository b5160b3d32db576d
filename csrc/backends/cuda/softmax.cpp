#include "generated/cuda/softmax.h"

#include <bit>

#include "backends/cuda/dense.h"
#include "backends/cuda/program.h"
#include "kernels/common/types.h"

namespace mt::cuda {
namespace {

constexpr int64_t kLongestInRegisters = 1024;  // 32 for each lane of a warp

enum Way { kRows, kLanes, kColumns };

void check_floating(const char* name, std::initializer_list<const Tensor*> tensors) {
  for (const Tensor* t : tensors)
    if (!kernels::contains(kernels::domains::floating, t->dtype()))
      kernels::fail_unsupported(name, t->dtype());
}

// `types`: the dtypes of the template, forward or backward.
void run(Variants& variants, const char* name, std::initializer_list<DType> types, bool backward, bool log,
         const Along& along, const Tensor& out, SoftmaxCall call) {
  const Place place(out);
  const Way way = along.inner > 1 ? kColumns : along.length <= kLongestInRegisters ? kLanes : kRows;
  const int each = way == kLanes ? int(std::bit_ceil(uint64_t((along.length + 31) / 32))) : 0;
  uint64_t key = key_of({int(way), each, log});
  for (const DType type : types) key = key << 6 | uint64_t(type);
  const Loaded& program =
      find_program(variants, key, place, "softmax.h", 1, [&]() -> std::vector<FamilyKernel> {
        std::string text = way == kRows    ? "softmax_rows"
                           : way == kLanes ? "softmax_lanes"
                                           : "softmax_columns";
        text += backward ? "_backward<" : "<";
        for (const DType type : types) text += join_text(type_text(type), ", ");
        text += log ? "true" : "false";
        if (way == kLanes) text += join_text(", ", each);
        return {{text + ">", "SoftmaxCall", way == kRows ? 1024 : way == kLanes ? 128 : 256}};
      });
  call.outer = along.outer;
  call.length = along.length;
  call.inner = along.inner;
  Shape grid, block;
  if (way == kRows) {
    grid = {blocks_for(along.outer, 1)};
    block = {unsigned(std::clamp<uint64_t>(std::bit_ceil(uint64_t(along.length) / 4), 32, 1024))};
  } else if (way == kLanes) {
    grid = {blocks_for(along.outer, 4)};
    block = {32, 4};
  } else {
    grid = {blocks_for(along.outer * ((along.inner + 31) / 32), 1)};
    block = {32, 8};
  }
  launch_with(program.entries[0], name, place.index(), grid, block, 0, call);
}

void forward(Variants& variants, const char* name, const Tensor& self, int64_t dim, bool log,
             const Tensor& out) {
  check_floating("host_softmax", {&self, &out});
  if (out.numel() == 0) return;
  const Tensor in = dense(self);
  into_dense(out, [&](const Tensor& made) {
    SoftmaxCall call{};
    call.in = memory(in);
    call.out = memory(made);
    run(variants, name, {in.dtype(), made.dtype()}, false, log, Along(in, dim), made, call);
  });
}

void backward(Variants& variants, const char* name, const Tensor& grad, const Tensor& output, int64_t dim,
              bool log, const Tensor& out) {
  check_floating("host_softmax_backward", {&grad, &output, &out});
  if (out.numel() == 0) return;
  const Tensor g = dense(grad), y = dense(output);
  into_dense(out, [&](const Tensor& made) {
    SoftmaxCall call{};
    call.in = memory(g);
    call.made = memory(y);
    call.out = memory(made);
    run(variants, name, {g.dtype(), y.dtype(), made.dtype()}, true, log, Along(y, dim), made, call);
  });
}

}  // namespace

void softmax(const Tensor& self, int64_t dim, bool, const Tensor& out) {
  static Variants variants;
  forward(variants, "softmax", self, dim, false, out);
}
void log_softmax(const Tensor& self, int64_t dim, bool, const Tensor& out) {
  static Variants variants;
  forward(variants, "log_softmax", self, dim, true, out);
}
void softmax_backward(const Tensor& grad, const Tensor& output, int64_t dim, DType, const Tensor& out) {
  static Variants variants;
  backward(variants, "softmax_backward", grad, output, dim, false, out);
}
void log_softmax_backward(const Tensor& grad, const Tensor& output, int64_t dim, DType, const Tensor& out) {
  static Variants variants;
  backward(variants, "log_softmax_backward", grad, output, dim, true, out);
}

}  // namespace mt::cuda
