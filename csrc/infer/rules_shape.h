// Rules of single operators: shapes and windows. Included by infer.h.
#pragma once

#include "infer/infer.h"

namespace mt::infer {

void flip(const Tensor& self, IntList dims, Output& out);
void triangle(const Tensor& self, int64_t diagonal, Output& out);
void diag_embed(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2, Output& out);
void unfold_backward(const Tensor& grad, IntList sizes, int64_t dim, int64_t size, int64_t step, Output& out);
// A flat memory of `room` elements into which windows are summed.
void as_strided_sum(const Tensor& self, int64_t room, IntList size, IntList stride, int64_t offset,
                    Output& out);

// ---- padding ----
// Pads come last dimension first, two per dimension; the result's sizes.
Dims padded_sizes(IntList sizes, IntList pad);
void constant_pad(const Tensor& self, IntList pad, const Scalar& value, Output& out);
// How edges are continued: the numbers of `mode`.
enum class Edge : int64_t { reflect, replicate, circular };
void extend_edges(const Tensor& self, IntList pad, int64_t mode, Output& out);
void extend_edges_backward(const Tensor& grad, IntList pad, int64_t mode, Output& out);

// ---- sliding windows over images ----
struct SlidingWindow {
  int64_t kernel[2], dilation[2], padding[2], stride[2], image[2], places[2];
};
SlidingWindow sliding_window(IntList image, IntList kernel_size, IntList dilation, IntList padding,
                             IntList stride);
void im2col(const Tensor& self, IntList kernel_size, IntList dilation, IntList padding, IntList stride,
            Output& out);
void col2im(const Tensor& self, IntList output_size, IntList kernel_size, IntList dilation, IntList padding,
            IntList stride, Output& out);

// ---- distances and losses ----
void cdist(const Tensor& x1, const Tensor& x2, double p, Output& out);
void cdist_backward(const Tensor& grad, const Tensor& x1, const Tensor& x2, double p, const Tensor& distances,
                    Output& out);
void pdist(const Tensor& self, double p, Output& out);
void pdist_backward(const Tensor& grad, const Tensor& self, double p, const Tensor& distances, Output& out);
void binary_loss(const Tensor& self, const Tensor& target, Output& out);
void ctc_loss(const Tensor& log_probs, const Tensor& targets, IntList input_lengths, IntList target_lengths,
              int64_t blank, bool zero_infinity, Output& loss, Output& log_alpha);
void ctc_loss_backward(const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
                       IntList input_lengths, IntList target_lengths, const Tensor& loss,
                       const Tensor& log_alpha, int64_t blank, bool zero_infinity, Output& out);

}  // namespace mt::infer
