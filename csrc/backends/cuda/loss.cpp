#include "generated/cuda/loss.h"

#include "backends/cuda/dense.h"
#include "backends/cuda/program.h"
#include "core/views.h"
#include "infer/infer.h"
#include "kernels/common/types.h"

namespace mt::cuda {
namespace {

using Programs = std::vector<FamilyKernel>;
enum Reduction { kNone, kMean, kSum };

// Kinds of kernels::PointwiseLoss, by their names in the text that the device compiles.
struct Kind {
  const char* name;
  int number;
  double beta = 1;
};
// Of each element, and of the answer yes; either may be undefined.
struct Weights {
  Tensor each, yes;
};
constexpr Kind kSquare{"square", 0}, kCrossEntropy{"cross_entropy", 1}, kLogitEntropy{"logit_entropy", 5};
// A width of 0 is the plain absolute value.
Kind smooth(double beta) { return beta == 0 ? Kind{"absolute", 2} : Kind{"smooth_absolute", 3, beta}; }
Kind huber(double delta) { return {"huber", 4, delta}; }

double share(int64_t reduction, int64_t count) { return reduction == kMean ? 1.0 / double(count) : 1.0; }

void loss(const Kind& kind, const char* name, const Tensor& self, const Tensor& target,
          const Weights& weights, int64_t reduction, const Tensor& out) {
  const DType t = out.dtype();
  check_dtype(kernels::domains::floating, t, name);
  const bool folds = reduction != kNone;
  if (!folds && out.numel() == 0) return;
  const Place place(out);
  static Variants variants;
  const Loaded& program =
      find_program(variants, key_of({kind.number, int(t)}), place, "loss.h", 3, [&]() -> Programs {
        const std::string types = join_text("<", type_text(t), ", PointwiseLoss::", kind.name, ">");
        return {{"loss_each" + types, "LossCall"},
                {"loss_folded" + types, "LossCall"},
                {join_text("loss_finished<", type_text(t), ">"), "LossCall"}};
      });
  const Tensor y = as_dtype(target, t), w = as_dtype(weights.each, t), pos = as_dtype(weights.yes, t);
  Tensor x = as_dtype(self, t);
  LossCall call{};
  call.beta = kind.beta;
  call.scale = 1;
  if (!folds) {
    call.walk =
        walk_of({{out, call.out}, {x, call.in}, {y, call.target}, {w, call.weight}, {pos, call.pos_weight}});
    return launch_with(program.entries[0], name, place.index(), {blocks_for(call.walk.count)}, {256}, 0,
                       call);
  }
  x = views::expand(x, infer::broadcast(x.sizes(), y.sizes()), false);
  call.walk = walk_of({{x, call.in}, {y, call.target}, {w, call.weight}, {pos, call.pos_weight}});
  const int64_t most = int64_t(driver().attribute(place.index(), kProcessors)) * 4;
  const int64_t blocks = std::clamp<int64_t>(call.walk.count / (256 * 8), 1, most);
  const Scratch parts(place, size_t(blocks) * itemsize(compute_dtype(t)));
  call.parts = parts.address();
  launch_with(program.entries[1], name, place.index(), {unsigned(blocks)}, {256}, 0, call);
  call.scale = share(reduction, call.walk.count);
  call.walk.count = blocks;
  call.out.data = memory(out);
  launch_with(program.entries[2], name, place.index(), {1}, {256}, 0, call);
}

void loss_backward(const Kind& kind, const char* name, const Tensor& grad, const Tensor& self,
                   const Tensor& target, const Weights& weights, int64_t reduction, const Tensor& out) {
  const DType t = out.dtype();
  check_dtype(kernels::domains::floating, t, name);
  if (out.numel() == 0) return;
  const Place place(out);
  static Variants variants;
  const Loaded& program =
      find_program(variants, key_of({kind.number, int(t)}), place, "loss.h", 1, [&]() -> Programs {
        return {{join_text("loss_backward<", type_text(t), ", PointwiseLoss::", kind.name, ", false>"),
                 "LossCall"}};
      });
  const Tensor x = as_dtype(self, t), y = as_dtype(target, t), g = as_dtype(grad, t),
               w = as_dtype(weights.each, t), pos = as_dtype(weights.yes, t);
  LossCall call{};
  call.beta = kind.beta;
  call.scale = share(reduction, out.numel());
  call.walk = walk_of({{out, call.out},
                       {x, call.in},
                       {y, call.target},
                       {w, call.weight},
                       {pos, call.pos_weight},
                       {g, call.gradient}});
  launch_with(program.entries[0], name, place.index(), {blocks_for(call.walk.count)}, {256}, 0, call);
}

// Targets of a sample: one, or those of a picture.
int64_t places_of(const Tensor& scores) { return scores.dim() == 4 ? scores.size(2) * scores.size(3) : 1; }

const Loaded& nll_program(const Place& place, DType t) {
  static Variants variants;
  return find_program(variants, key_of({int(t)}), place, "loss.h", 4, [&]() -> Programs {
    const std::string types = join_text("<", type_text(t), ">");
    return {{"nll_each" + types, "NllCall"},
            {"nll_folded" + types, "NllCall", 1024},
            {"nll_finished" + types, "NllCall"},
            {"nll_backward" + types, "NllCall"}};
  });
}

// One block, or many and one that adds up their parts.
void add_up(const Place& place, const Loaded& program, NllCall& call, size_t part_bytes) {
  constexpr int64_t kEach = 8 * 1024;  // samples of a block
  const int64_t most = int64_t(driver().attribute(place.index(), kProcessors)) * 2;
  call.blocks = std::clamp<int64_t>(call.samples / kEach, 1, most);
  const Scratch parts(place, call.blocks > 1 ? size_t(call.blocks) * part_bytes : 0);
  call.parts = parts.address();
  launch_with(program.entries[1], "nll_loss", place.index(), {unsigned(call.blocks)}, {1024}, 0, call);
  if (call.parts) launch_with(program.entries[2], "nll_loss", place.index(), {1}, {256}, 0, call);
}

}  // namespace

void nll_loss(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
              int64_t ignore_index, const Tensor& output, const Tensor& total_weight) {
  const DType t = self.dtype();
  check_dtype(kernels::domains::floating, t, "nll_loss_out_frame");
  const Place place(output);
  const Loaded& program = nll_program(place, t);
  const Tensor scores = dense(self), classes = dense(target, DType::int64), weights = dense(weight, t);
  const bool alone = self.dim() == 1, folds = reduction != kNone;
  const DenseResult out(output);
  NllCall call{};
  call.scores = memory(scores);
  call.target = static_cast<const long long*>(memory(classes));
  call.weight = memory(weights);
  call.out = out.data();
  call.total_weight = memory(total_weight);
  call.samples = target.numel();
  call.classes = self.size(alone ? 0 : 1);
  call.places = places_of(self);
  call.ignored = ignore_index;
  call.reduction = int(reduction);
  call.alone = alone;
  if (folds) add_up(place, program, call, 2 * itemsize(compute_dtype(t)));
  else if (call.samples > 0)
    launch_with(program.entries[0], "nll_loss", place.index(), {blocks_for(call.samples)}, {256}, 0, call);
  else gpu().fill(total_weight, Scalar(int64_t(0)));
  out.finish();
}

void nll_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target, const Tensor& weight,
                       int64_t reduction, int64_t ignore_index, const Tensor& total_weight,
                       const Tensor& out) {
  const DType t = self.dtype();
  check_dtype(kernels::domains::floating, t, "nll_loss_backward_out_frame");
  if (out.numel() == 0) return;
  const Place place(out);
  const Loaded& program = nll_program(place, t);
  const Tensor g = dense(grad, t), classes = dense(target, DType::int64), weights = dense(weight, t),
               total = dense(total_weight, t);
  into_dense(out, [&](const Tensor& made) {
    gpu().fill(made, Scalar(int64_t(0)));
    NllCall call{};
    call.target = static_cast<const long long*>(memory(classes));
    call.weight = memory(weights);
    call.gradient = memory(g);
    call.out = memory(made);
    call.total_weight = memory(total);
    call.samples = target.numel();
    call.classes = self.size(self.dim() == 1 ? 0 : 1);
    call.places = places_of(self);
    call.ignored = ignore_index;
    call.reduction = int(reduction);
    launch_with(program.entries[3], "nll_loss_backward", place.index(), {blocks_for(call.samples)}, {256}, 0,
                call);
  });
}

void mse_loss(const Tensor& self, const Tensor& target, int64_t reduction, const Tensor& out) {
  loss(kSquare, "mse_loss", self, target, {}, reduction, out);
}
void mse_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction,
                       const Tensor& out) {
  loss_backward(kSquare, "mse_loss_backward", grad, self, target, {}, reduction, out);
}
void smooth_l1_loss(const Tensor& self, const Tensor& target, int64_t reduction, double beta,
                    const Tensor& out) {
  loss(smooth(beta), "smooth_l1_loss", self, target, {}, reduction, out);
}
void smooth_l1_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction,
                             double beta, const Tensor& out) {
  loss_backward(smooth(beta), "smooth_l1_loss_backward", grad, self, target, {}, reduction, out);
}
void huber_loss(const Tensor& self, const Tensor& target, int64_t reduction, double delta,
                const Tensor& out) {
  loss(huber(delta), "huber_loss", self, target, {}, reduction, out);
}
void huber_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction,
                         double delta, const Tensor& out) {
  loss_backward(huber(delta), "huber_loss_backward", grad, self, target, {}, reduction, out);
}
void binary_cross_entropy(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                          const Tensor& out) {
  loss(kCrossEntropy, "binary_cross_entropy", self, target, {weight, {}}, reduction, out);
}
void binary_cross_entropy_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                                   const Tensor& weight, int64_t reduction, const Tensor& out) {
  loss_backward(kCrossEntropy, "binary_cross_entropy_backward", grad, self, target, {weight, {}}, reduction,
                out);
}
void binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target, const Tensor& weight,
                                      const Tensor& pos_weight, int64_t reduction, const Tensor& out) {
  loss(kLogitEntropy, "binary_cross_entropy_with_logits", self, target, {weight, pos_weight}, reduction, out);
}
void binary_cross_entropy_with_logits_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                                               const Tensor& weight, const Tensor& pos_weight,
                                               int64_t reduction, const Tensor& out) {
  loss_backward(kLogitEntropy, "binary_cross_entropy_with_logits_backward", grad, self, target,
                {weight, pos_weight}, reduction, out);
}

}  // namespace mt::cuda
