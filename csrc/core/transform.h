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
#include <memory>
#include <utility>
#include <vector>

#include "core/tensor.h"
#include "core/thread_state.h"

namespace mt {

struct Tangent {
  int level;
  Tensor tensor;
};

using Tangents = std::vector<Tangent>;  // in order of levels, the highest last

struct Transformed {
  int batch_level = 0;        // 0: no batch
  Tensor value;               // the batch; its first dimension is the one that vmap maps over
  bool same_for_all = false;  // no batch dimension: every slice is `value`
  // Null: none. What a node has saved of a result shares them: they come after the result was recorded.
  std::shared_ptr<Tangents> tangents;
};

// Null if the tensor is in no transformation.
inline Transformed* transformed(const Tensor& tensor) {
  const GradState* state = tensor.impl()->grad_state;
  return state ? state->transformed.get() : nullptr;
}

// Whether it has no value of its own, but one for each slice.
inline bool stands_for_batch(const Tensor& tensor) {
  const Transformed* state = transformed(tensor);
  return state && state->batch_level > 0 && !state->same_for_all;
}
// The values of all slices at once, for checks that are about each of them.
inline const Tensor& of_all_slices(const Tensor& tensor) {
  const Transformed* state = transformed(tensor);
  return state && state->batch_level > 0 ? of_all_slices(state->value) : tensor;
}

// Whether operators of this thread look at tangents; the second returns what was so before.
bool forward_enabled();
bool set_forward_enabled(bool enabled);

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

// A second tensor outside every graph, with what transformations keep on the first; set by csrc/transforms.
extern Tensor (*g_copy_transformed)(const Tensor& tensor);

}  // namespace mt
