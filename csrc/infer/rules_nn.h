// Rules of single operators: convolution, pooling, interpolation and attention. Included by infer.h.
#pragma once

#include "infer/infer.h"

namespace mt::infer {

// ---- convolution ----
void convolve(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding,
              IntList dilation, int64_t groups, Output& out);
void convolve_transposed(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList output_size,
                         IntList stride, IntList padding, IntList dilation, int64_t groups, Output& out);
void convolve_weight(const Tensor& input, const Tensor& grad_output, IntList kernel_size, IntList stride,
                     IntList padding, IntList dilation, int64_t groups, Output& out);

// ---- pooling ----
// One number stands for every dimension.
Dims window_list(IntList list, size_t spatial);
int64_t pooled_size(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                    bool ceil_mode);
void avg_pool2d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, bool ceil_mode,
                bool count_include_pad, std::optional<int64_t> divisor_override, Output& out);
void avg_pool3d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, bool ceil_mode,
                bool count_include_pad, std::optional<int64_t> divisor_override, Output& out);
void avg_pool_backward(const Tensor& grad_output, IntList input_size, int64_t spatial, IntList kernel_size,
                       IntList stride, IntList padding, bool ceil_mode, bool count_include_pad,
                       std::optional<int64_t> divisor_override, Output& out);
void adaptive_avg_pool2d(const Tensor& self, IntList output_size, Output& out);
void adaptive_avg_pool3d(const Tensor& self, IntList output_size, Output& out);
void adaptive_avg_pool_backward(const Tensor& grad_output, IntList input_size, int64_t spatial, Output& out);
void max_pool2d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, IntList dilation,
                bool ceil_mode, Output& out, Output& indices);
void max_pool3d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding, IntList dilation,
                bool ceil_mode, Output& out, Output& indices);
void adaptive_max_pool2d(const Tensor& self, IntList output_size, Output& out, Output& indices);
void adaptive_max_pool3d(const Tensor& self, IntList output_size, Output& out, Output& indices);
void fractional_max_pool2d(const Tensor& self, IntList kernel_size, IntList output_size,
                           const Tensor& random_samples, Output& out, Output& indices);
void fractional_max_pool3d(const Tensor& self, IntList kernel_size, IntList output_size,
                           const Tensor& random_samples, Output& out, Output& indices);
void max_pool2d_backward(const Tensor& grad_output, const Tensor& self, IntList kernel_size, IntList stride,
                         IntList padding, IntList dilation, bool ceil_mode, const Tensor& indices,
                         Output& out);
void plane_scatter(const Tensor& values, const Tensor& indices, IntList size, int64_t spatial,
                   bool accumulate, Output& out);
void plane_gather(const Tensor& self, const Tensor& indices, int64_t spatial, Output& out);

// ---- interpolation and sampling ----
void interpolate(const Tensor& self, IntList output_size, std::string_view mode, bool align_corners,
                 std::span<const double> scales, Output& out);
void interpolate_backward(const Tensor& grad_output, IntList input_size, std::string_view mode,
                          bool align_corners, std::span<const double> scales, Output& out);
void grid_sampler_2d(const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
                     int64_t padding_mode, bool align_corners, Output& out);
void grid_sampler_3d(const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
                     int64_t padding_mode, bool align_corners, Output& out);
void grid_sampler_backward(const Tensor& grad_output, const Tensor& input, const Tensor& grid,
                           int64_t interpolation_mode, int64_t padding_mode, bool align_corners,
                           Output& grad_input, Output& grad_grid);

// ---- attention ----
void attention(const Tensor& query, const Tensor& key, const Tensor& value, double dropout_p, bool is_causal,
               const Tensor& attn_mask, std::optional<double> scale, Output& output, Output& logsumexp);
void attention_backward(const Tensor& grad_out, const Tensor& query, const Tensor& key, const Tensor& value,
                        const Tensor& out, const Tensor& logsumexp, double dropout_p, bool is_causal,
                        const Tensor& attn_mask, std::optional<double> scale, Output& grad_query,
                        Output& grad_key, Output& grad_value);

}  // namespace mt::infer
