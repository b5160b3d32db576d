#include "generated/cuda/normalization.h"

#include "backends/cuda/dense.h"
#include "backends/cuda/program.h"

namespace mt::cuda {
namespace {

using Programs = std::vector<FamilyKernel>;

// Weight and bias have one dtype in the kernels: the weight's.
DType parameter_dtype(const Tensor& weight, const Tensor& bias, DType otherwise) {
  return weight.defined() ? weight.dtype() : bias.defined() ? bias.dtype() : otherwise;
}

int64_t processors(const Place& place) { return driver().attribute(place.index(), kProcessors); }

// How many parts a sum is taken in, so that there is work for the whole chip.
int parts_for(const Place& place, int64_t blocks, int64_t terms, int64_t terms_at_once) {
  const int64_t wanted = processors(place) * 8 / std::max<int64_t>(blocks, 1);
  const int64_t possible = terms / (terms_at_once * 4);
  return int(std::clamp<int64_t>(std::min(wanted, possible), 1, 256));
}

void fill_zero(const Tensor& t, bool wanted) {
  if (wanted && t.numel() > 0) gpu().fill(t, Scalar(int64_t(0)));
}

// How rows are shared out: to a warp each where it can keep one in registers, else to blocks.
struct RowShape {
  int kept;  // groups of 16 bytes that a thread keeps, 0 for rows that are too long for registers
  Shape grid, block;
  RowShape(int64_t rows, int64_t length, size_t item) {
    const int64_t groups = (length * int64_t(item) + 15) / 16;
    kept = groups <= 32     ? 1
           : groups <= 64   ? 2
           : groups <= 128  ? 4
           : groups <= 256  ? 8
           : groups <= 4096 ? 4
                            : 0;
    block = groups <= 256 ? Shape{32, 4} : Shape{kept ? whole_warps((groups + kept - 1) / kept, 1024) : 1024};
    grid = {blocks_for(rows, block.y)};
  }
};

}  // namespace

void layer_norm(const Tensor& input, IntList normalized_shape, const Tensor& weight, const Tensor& bias,
                double eps, const Tensor& out, const Tensor& mean, const Tensor& rstd) {
  const int64_t rows = mean.numel(), length = checked_numel(normalized_shape);
  if (rows == 0) return;
  const Place place(out);
  const DType t = input.dtype(), w = parameter_dtype(weight, bias, t), s = mean.dtype();
  const RowShape shape(rows, length, itemsize(t));
  static Variants variants;
  const Loaded& program = find_program(variants, key_of({int(t), int(w), int(s), shape.kept}), place,
                                       "normalization.h", 1, [&]() -> Programs {
                                         return {{join_text("row_norm<", type_text(t), ", ", type_text(w),
                                                            ", ", type_text(s), ", true, ", shape.kept, ">"),
                                                  "RowNormCall", 1024}};
                                       });
  const Tensor x = dense(input), scale = dense(weight, w), shift = dense(bias, w);
  const DenseResult made(out), center(mean), spread(rstd);
  RowNormCall call{};
  call.in = memory(x);
  call.weight = memory(scale);
  call.bias = memory(shift);
  call.out = made.data();
  call.mean = center.data();
  call.rstd = spread.data();
  call.rows = rows;
  call.length = length;
  call.eps = eps;
  launch_with(program.entries[0], "layer_norm", place.index(), shape.grid, shape.block, 0, call);
  made.finish();
  center.finish();
  spread.finish();
}

void layer_norm_backward(const Tensor& grad, const Tensor& input, IntList normalized_shape,
                         const Tensor& mean, const Tensor& rstd, const Tensor& weight, int64_t needs,
                         const Tensor& grad_input, const Tensor& grad_weight, const Tensor& grad_bias) {
  const int64_t rows = mean.numel(), length = checked_numel(normalized_shape);
  if (input.numel() == 0) {
    fill_zero(grad_weight, needs & 2);
    return fill_zero(grad_bias, needs & 4);
  }
  const Place place(input);
  const DType t = input.dtype(), s = mean.dtype(), c = compute_dtype(t),
              w = weight.defined() ? weight.dtype() : grad_weight.dtype();
  const RowShape shape(rows, length, itemsize(t));
  static Variants variants;
  const Loaded& program = find_program(
      variants, key_of({int(t), int(w), int(s), shape.kept}), place, "normalization.h", 3, [&]() -> Programs {
        const std::string types = join_text(type_text(t), ", ", type_text(w), ", ", type_text(s));
        return {{join_text("row_norm_backward<", types, ", true, ", shape.kept, ">"), "RowNormCall", 1024},
                {join_text("row_norm_backward_parts<", type_text(t), ", ", type_text(s), ", true>"),
                 "RowNormCall"},
                {join_text("parts_added<", type_text(c), ", ", type_text(w), ">"), "PartsCall"}};
      });
  const Tensor g = dense(grad, t), x = dense(input), center = dense(mean), spread = dense(rstd, s),
               scale = dense(weight);
  RowNormCall call{};
  call.in = memory(x);
  call.gradient = memory(g);
  call.weight = memory(scale);
  call.mean = memory(center);
  call.rstd = memory(spread);
  call.rows = rows;
  call.length = length;
  if (needs & 1) {
    const DenseResult made(grad_input);
    call.out = made.data();
    launch_with(program.entries[0], "layer_norm_backward", place.index(), shape.grid, shape.block, 0, call);
    made.finish();
  }
  if (!(needs & 6)) return;
  const int64_t strips = (length + 31) / 32;
  const int parts = parts_for(place, strips, rows, 8);
  const size_t bytes = size_t(parts) * size_t(length) * itemsize(c);
  const Scratch weight_parts(place, needs & 2 ? bytes : 0), bias_parts(place, needs & 4 ? bytes : 0);
  call.weight_parts = weight_parts.address();
  call.bias_parts = bias_parts.address();
  launch_with(program.entries[1], "layer_norm_backward_parameters", place.index(),
              {unsigned(strips), unsigned(parts)}, {32, 8}, 0, call);
  const auto add_up = [&](const Scratch& from, const Tensor& to) {
    const DenseResult made(to);
    PartsCall sum{};
    sum.parts = from.address();
    sum.out = made.data();
    sum.count = length;
    sum.number = parts;
    launch_with(program.entries[2], "layer_norm_backward_parameters", place.index(), {blocks_for(length)},
                {256}, 0, sum);
    made.finish();
  };
  if (needs & 2) add_up(weight_parts, grad_weight);
  if (needs & 4) add_up(bias_parts, grad_bias);
}

void group_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t n, int64_t c,
                int64_t hxw, int64_t group, double eps, const Tensor& out, const Tensor& mean,
                const Tensor& rstd) {
  if (n * group == 0) return;
  const Place place(out);
  const DType t = input.dtype(), w = parameter_dtype(weight, bias, t), s = mean.dtype();
  static Variants variants;
  const Loaded& program = find_program(
      variants, key_of({int(t), int(w), int(s)}), place, "normalization.h", 2, [&]() -> Programs {
        return {{join_text("row_statistics<", type_text(t), ", ", type_text(s), ">"), "RowNormCall", 512},
                {join_text("group_norm_applied<", type_text(t), ", ", type_text(w), ", ", type_text(s), ">"),
                 "GroupNormCall"}};
      });
  const Tensor x = dense(input), scale = dense(weight, w), shift = dense(bias, w);
  const DenseResult made(out), center(mean), spread(rstd);
  RowNormCall rows{};
  rows.in = memory(x);
  rows.mean = center.data();
  rows.rstd = spread.data();
  rows.rows = n * group;
  rows.length = c / group * hxw;
  rows.eps = eps;
  launch_with(program.entries[0], "group_norm_statistics", place.index(), {blocks_for(rows.rows, 1)},
              {whole_warps((rows.length + 3) / 4, 512)}, 0, rows);
  GroupNormCall call{};
  call.in = memory(x);
  call.weight = memory(scale);
  call.bias = memory(shift);
  call.out = made.data();
  call.mean = center.data();
  call.rstd = spread.data();
  call.batch = n;
  call.channels = c;
  call.space = hxw;
  call.groups = group;
  if (out.numel() > 0)
    launch_with(program.entries[1], "group_norm", place.index(), {blocks_for(out.numel())}, {256}, 0, call);
  made.finish();
  center.finish();
  spread.finish();
}

void group_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& mean, const Tensor& rstd,
                         const Tensor& weight, int64_t n, int64_t c, int64_t hxw, int64_t group,
                         int64_t needs, const Tensor& grad_input, const Tensor& grad_weight,
                         const Tensor& grad_bias) {
  if (input.numel() == 0) {
    fill_zero(grad_weight, needs & 2);
    return fill_zero(grad_bias, needs & 4);
  }
  const Place place(input);
  const DType t = input.dtype(), s = mean.dtype(),
              w = weight.defined() ? weight.dtype() : grad_weight.dtype();
  static Variants variants;
  const Loaded& program = find_program(
      variants, key_of({int(t), int(w), int(s)}), place, "normalization.h", 4, [&]() -> Programs {
        const std::string types = join_text(type_text(t), ", ", type_text(w), ", ", type_text(s), ">");
        return {{join_text("plane_sums<", type_text(t), ">"), "GroupNormCall"},
                {"group_norm_coefficients<" + types, "GroupNormCall"},
                {"group_norm_backward_input<" + types, "GroupNormCall"},
                {"group_norm_backward_parameters<" + types, "GroupNormCall"}};
      });
  const Tensor g = dense(grad, t), x = dense(input), center = dense(mean), spread = dense(rstd, s),
               scale = dense(weight);
  const size_t item = itemsize(compute_dtype(t)), planes = size_t(n * c), groups = size_t(n * group);
  const Scratch sums(place, planes * item), products(place, planes * item), by_input(place, groups * item),
      constant(place, groups * item);
  GroupNormCall call{};
  call.in = memory(x);
  call.gradient = memory(g);
  call.weight = memory(scale);
  call.mean = memory(center);
  call.rstd = memory(spread);
  call.sums = sums.address();
  call.products = products.address();
  call.by_input = by_input.address();
  call.constant = constant.address();
  call.batch = n;
  call.channels = c;
  call.space = hxw;
  call.groups = group;
  const auto start = [&](int kernel, int64_t threads) {
    launch_with(program.entries[size_t(kernel)], "group_norm_backward", place.index(), {blocks_for(threads)},
                {256}, 0, call);
  };
  start(0, n * c * 32);
  if (needs & 1) {
    const DenseResult made(grad_input);
    call.out = made.data();
    start(1, n * group);
    start(2, input.numel());
    made.finish();
  }
  if (!(needs & 6)) return;
  const Tensor none;
  const DenseResult to_weight(needs & 2 ? grad_weight : none), to_bias(needs & 4 ? grad_bias : none);
  call.grad_weight = to_weight.data();
  call.grad_bias = to_bias.data();
  start(3, c);
  if (needs & 2) to_weight.finish();
  if (needs & 4) to_bias.finish();
}

}  // namespace mt::cuda
