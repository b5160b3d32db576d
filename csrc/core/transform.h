// What transformations of functions (vmap, forward mode) keep on a tensor.
//
// Note [Transformations]
// Each use of vmap, and each of forward mode, is a level: 1 for the outermost of the thread, one more for each inside
// it. A tensor that vmap handed to a function stands for a batch: it has the shape of one slice, no memory, and the
// batch as a tensor of its own, one level down (`value`, the batch dimension first). A tensor inside forward mode is
// itself, with a tangent for each level that it takes part in.
//
// An operator with such tensors is handed over (Note [Interception] in core/intercept.h) to the transformation of
// the highest level among its arguments. That one calls operators again with what lies below it: batches instead
// of slices, and under LevelsBelow, so that tangents of its own level and above are not looked at. So levels nest in
// any order, and each sees the history that belongs to it: gradients asked for inside vmap are recorded on the
// slices, those asked for outside on the batches.
#pragma once

#include <limits>
#include <utility>
#include <vector>

#include "core/tensor.h"
#include "core/thread_state.h"

namespace mt {

struct Tangent {
  int level;
  Tensor tensor;
};

struct Transformed {
  int batch_level = 0;            // 0: no batch
  Tensor value;                   // the batch; its first dimension is the one that vmap maps over
  bool same_for_all = false;      // no batch dimension: every slice is `value`
  std::vector<Tangent> tangents;  // in order of levels, the highest last
};

// Null if the tensor is in no transformation.
inline Transformed* transformed(const Tensor& tensor) {
  const GradState* state = tensor.impl()->grad_state;
  return state ? state->transformed.get() : nullptr;
}

// A level of this thread, while it lives.
class NewLevel {
 public:
  NewLevel() : level_(++thread_state().transform_levels) {}
  ~NewLevel() { --thread_state().transform_levels; }
  NewLevel(const NewLevel&) = delete;
  int number() const { return level_; }

 private:
  int level_;
};

// Operators called while it lives do not see this level nor those above it.
class LevelsBelow {
 public:
  explicit LevelsBelow(int level) : before_(std::exchange(thread_state().highest_level, level - 1)) {}
  ~LevelsBelow() { thread_state().highest_level = before_; }
  LevelsBelow(const LevelsBelow&) = delete;

 private:
  int before_;
};

}  // namespace mt
