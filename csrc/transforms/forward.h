// Forward mode: tensors with tangents, and operators on them.
//
// Note [Forward mode]
// A dual tensor is a tensor with a tangent: the direction in which it moves at a level (Note [Transformations] in
// core/transform.h). An operator that gets one comes to forward_interceptor. It runs again below the level, which records
// history as always, and the tangents of its results are computed from those of its arguments: by the rule of its row
// (ForwardRule, transforms/forward_rule.h) or by its gradient (forward_gradient.cpp). Rules call operators, so that
// tangents have history, and tangents of lower levels. No tangent means zero.
//
// Memory: the tangent of a view is the same view of the base's tangent, so that a write to one is seen by the other; a
// tangent that is no view shares its memory with no other tangent. A write in place writes the tangent in place.
#pragma once

#include "core/operators.h"
#include "core/transform.h"

namespace mt::forward {

// Levels end in the order opposite to that in which they began; tangents of a level end with it.
int enter_level();
void exit_level(int level);

Tensor tangent_of(const Tensor& tensor, int level);  // undefined: none
void set_tangent(const Tensor& tensor, const Tensor& tangent, int level);
// After a write in place: the tangent's memory, and that of the base's, is written.
void write_tangent(const Tensor& written, const Tensor& tangent, int level);
// The tangent in the layout of the tensor, so that every view of the one is a view of the other.
Tensor tangent_to_view(const Tensor& tensor, int level);

// A view of `primal` that moves along `tangent`.
Tensor make_dual(const Tensor& primal, const Tensor& tangent, int level);
// A view of the tensor without the tangent of the level.
Tensor primal_of(const Tensor& dual, int level);
// The tensor outside of every graph, with the same tangents.
void share_tangents(const Tensor& from, const Tensor& to);

// A tangent as that of `result`: of its dtype, device and shape.
Tensor fitted(const Tensor& tangent, const Tensor& result);

Values forward_interceptor(const Operator& op, Values arguments, int level);
// The tangents of results, by the gradient of the operator.
Values tangents_by_gradient(const Operator& op, const Values& arguments, const Values& tangents);

void register_forward_rules();  // generated

}  // namespace mt::forward
