// Rotary position embedding: pairs of numbers turned by an angle.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

// Which numbers of a row form pairs: half a row apart, neighbours, half of a half row apart; or neighbours, whose first
// ones then make the first half of the result and whose second ones the other.
enum class Rotation { half, neighbours, quarter, neighbours_to_halves };

// out = x * cos + (x with each pair turned by a right angle) * sin, along the last dimension, which is even (a multiple of
// four for quarters). cos and sin broadcast to x. out may be x.
void rotary(const View& x, const View& cos, const View& sin, Rotation rotation, const View& out);
// The gradients of cos and sin, of their shapes, may be null; with them x must be there.
void rotary_backward(const View& grad, const View& cos, const View& sin, const View* x, Rotation rotation,
                     const View& grad_x, const View* grad_cos, const View* grad_sin);

}  // namespace mt::kernels
