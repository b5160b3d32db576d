// Distances between rows in the p-norm; float and double, all views dense.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

// Whether a matrix product is the better way to Euclidean distances, as PyTorch counts it.
bool are_many_points(int64_t rows, int64_t others);
// x1 is [B, P, M], x2 [B, R, M], out [B, P, R]. by_product is for p = 2.
void cdist(const View& x1, const View& x2, double p, bool by_product, const View& out);
// What `grad` [B, P, R] says about x1; `distances` is what cdist gave. `out` is [B, P, M].
void cdist_backward(const View& grad, const View& x1, const View& x2, double p, const View& distances,
                    const View& out);
// x is [N, M]; out holds the distances of the rows i < j in order.
void pdist(const View& x, double p, const View& out);
void pdist_backward(const View& grad, const View& x, double p, const View& distances, const View& out);

}  // namespace mt::kernels
