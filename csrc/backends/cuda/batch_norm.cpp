// The cells of batch_norm, whose statistics are of channels over the whole batch.
#include "generated/cuda/normalization.h"

#include "backends/cuda/dense.h"
#include "backends/cuda/program.h"

namespace mt::cuda {
namespace {

using Programs = std::vector<FamilyKernel>;

// Channels lie innermost, and the tensor has no holes.
bool is_channels_last(const Tensor& t) {
  return (t.dim() == 4 && t.is_contiguous(MemoryFormat::channels_last)) ||
         (t.dim() == 5 && t.is_contiguous(MemoryFormat::channels_last_3d));
}

// What the operands of a call have in common: kernels see all of them with the same strides.
class Layout {
 public:
  explicit Layout(const Tensor& input) : input_(input) {
    last_ = !input.is_contiguous() && is_channels_last(input);
  }
  bool fits(const Tensor& t) const { return last_ ? is_channels_last(t) : t.is_contiguous(); }
  Tensor empty(DType dtype) const {
    return last_ ? new_tensor_strided(input_.sizes(), input_.strides(), dtype, input_.device())
                 : new_tensor(input_.sizes(), dtype, input_.device());
  }
  Tensor seen(const Tensor& t, DType dtype) const {
    if (fits(t) && t.dtype() == dtype) return t;
    const Tensor copy = empty(dtype);
    gpu().copy_on_device(t, copy);
    return copy;
  }
  void describe(ChannelNormCall& call) const {
    call.batch = input_.size(0);
    call.channels = input_.size(1);
    call.space = 1;
    for (int64_t d = 2; d < input_.dim(); ++d) call.space *= input_.size(d);
    call.batch_stride = call.channels * call.space;
    call.channel_stride = last_ ? 1 : call.space;
    call.space_stride = last_ ? call.channels : 1;
  }

 private:
  const Tensor& input_;
  bool last_;
};

struct Folds {
  bool inside;  // channels lie side by side
  Shape grid, block;

  Folds(const Place& place, ChannelNormCall& call) : inside(call.channel_stride == 1) {
    const int64_t blocks = inside ? (call.channels + 31) / 32 : call.channels;
    const int64_t terms = call.batch * call.space, at_once = inside ? 8 : 256;
    const int64_t processors = driver().attribute(place.index(), kProcessors);
    const int64_t wanted = std::min(processors * 8 / std::max<int64_t>(blocks, 1), terms / (at_once * 4));
    call.number = int(std::clamp<int64_t>(wanted, 1, 1024));
    grid = {unsigned(blocks), unsigned(call.number)};
    block = inside ? Shape{32, 8} : Shape{256};
  }
};

// Memory of the parts: count, mean and squares, or two sums.
size_t parts_bytes(const ChannelNormCall& call, DType compute) {
  return size_t(call.channels) * size_t(call.number) * 3 * itemsize(compute);
}

}  // namespace

void batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                const Tensor& running_var, bool training, double momentum, double eps, const Tensor& out,
                const Tensor& save_mean, const Tensor& save_invstd) {
  if (input.numel() == 0) return;
  const Place place(out);
  const DType t = input.dtype(), r = running_mean.defined() ? running_mean.dtype() : save_mean.dtype(),
              s = training ? save_mean.dtype() : r,
              w = weight.defined() ? weight.dtype()
                  : bias.defined() ? bias.dtype()
                                   : t;
  const Layout layout(input);
  const Tensor x = layout.seen(input, t), scale = dense(weight, w), shift = dense(bias, w);
  const Tensor made = layout.fits(out) ? out : layout.empty(out.dtype());
  ChannelNormCall call{};
  layout.describe(call);
  const Folds folds(place, call);
  static Variants variants;
  const Loaded& program = find_program(
      variants, key_of({int(t), int(w), int(s), int(r), folds.inside}), place, "normalization.h", 3,
      [&]() -> Programs {
        return {{join_text("channel_moments<", type_text(t), folds.inside ? ", true>" : ", false>"),
                 "ChannelNormCall"},
                {join_text("channel_statistics<", type_text(t), ", ", type_text(s), ", ", type_text(r), ">"),
                 "ChannelNormCall"},
                {join_text("channel_applied<", type_text(t), ", ", type_text(w), ", ", type_text(s), ">"),
                 "ChannelNormCall"}};
      });
  call.in = memory(x);
  call.weight = memory(scale);
  call.bias = memory(shift);
  call.out = memory(made);
  call.training = training;
  call.momentum = momentum;
  call.eps = eps;
  if (training) {
    const Scratch parts(place, parts_bytes(call, compute_dtype(t)));
    const DenseResult mean(save_mean), invstd(save_invstd), moving_mean(running_mean, DenseResult::kept),
        moving_var(running_var, DenseResult::kept);
    call.mean = mean.data();
    call.spread = invstd.data();
    call.running_mean = moving_mean.data();
    call.running_var = moving_var.data();
    call.parts = parts.address();
    launch_with(program.entries[0], "batch_norm_statistics", place.index(), folds.grid, folds.block, 0, call);
    launch_with(program.entries[1], "batch_norm_statistics", place.index(), {blocks_for(call.channels)},
                {256}, 0, call);
    launch_with(program.entries[2], "batch_norm", place.index(), {blocks_for(input.numel())}, {256}, 0, call);
    mean.finish();
    invstd.finish();
    if (running_mean.defined()) moving_mean.finish();
    if (running_var.defined()) moving_var.finish();
  } else {
    const Tensor mean = dense(running_mean, s), var = dense(running_var, s);
    call.mean = memory(mean);
    call.spread = memory(var);
    launch_with(program.entries[2], "batch_norm", place.index(), {blocks_for(input.numel())}, {256}, 0, call);
  }
  if (!made.same(out)) gpu().copy_on_device(made, out);
}

void batch_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                         const Tensor& running_mean, const Tensor& running_var, const Tensor& save_mean,
                         const Tensor& save_invstd, bool training, double eps, int64_t needs,
                         const Tensor& grad_input, const Tensor& grad_weight, const Tensor& grad_bias) {
  if (input.numel() == 0) {
    if ((needs & 2) && grad_weight.numel() > 0) gpu().fill(grad_weight, Scalar(int64_t(0)));
    if ((needs & 4) && grad_bias.numel() > 0) gpu().fill(grad_bias, Scalar(int64_t(0)));
    return;
  }
  const Place place(input);
  const Tensor &center = training ? save_mean : running_mean, &width = training ? save_invstd : running_var;
  const DType t = input.dtype(), s = center.dtype(),
              w = weight.defined() ? weight.dtype() : grad_weight.dtype();
  const Layout layout(input);
  const Tensor x = layout.seen(input, t), g = layout.seen(grad, t), scale = dense(weight),
               mean = dense(center), spread = dense(width, s);
  ChannelNormCall call{};
  layout.describe(call);
  const Folds folds(place, call);
  static Variants variants;
  const Loaded& program = find_program(
      variants, key_of({int(t), int(w), int(s), folds.inside}), place, "normalization.h", 3,
      [&]() -> Programs {
        const std::string types = join_text(type_text(t), ", ", type_text(w), ", ", type_text(s), ">");
        return {{join_text("channel_products<", type_text(t), ", ", type_text(s),
                           folds.inside ? ", true>" : ", false>"),
                 "ChannelNormCall"},
                {"channel_totals<" + types, "ChannelNormCall"},
                {"channel_backward_input<" + types, "ChannelNormCall"}};
      });
  call.in = memory(x);
  call.gradient = memory(g);
  call.weight = memory(scale);
  call.mean = memory(mean);
  call.spread = memory(spread);
  call.training = training;
  call.eps = eps;
  const DType compute = compute_dtype(t);
  const Scratch parts(place, parts_bytes(call, compute)),
      totals(place, size_t(call.channels) * 2 * itemsize(compute));
  call.parts = parts.address();
  call.totals = totals.address();
  if ((needs & 6) || training) {
    const Tensor none;
    const DenseResult to_weight(needs & 2 ? grad_weight : none), to_bias(needs & 4 ? grad_bias : none);
    call.grad_weight = to_weight.data();
    call.grad_bias = to_bias.data();
    launch_with(program.entries[0], "batch_norm_backward_sums", place.index(), folds.grid, folds.block, 0,
                call);
    launch_with(program.entries[1], "batch_norm_backward_sums", place.index(), {blocks_for(call.channels)},
                {256}, 0, call);
    if (needs & 2) to_weight.finish();
    if (needs & 4) to_bias.finish();
  }
  if (!(needs & 1)) return;
  const Tensor made = layout.fits(grad_input) ? grad_input : layout.empty(grad_input.dtype());
  call.out = memory(made);
  launch_with(program.entries[2], "batch_norm_backward", place.index(), {blocks_for(input.numel())}, {256}, 0,
              call);
  if (!made.same(grad_input)) gpu().copy_on_device(made, grad_input);
}

}  // namespace mt::cuda
