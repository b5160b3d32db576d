#include "generated/cuda/vision.h"

#include "backends/cuda/dense.h"
#include "backends/cuda/program.h"

namespace mt::cuda {
namespace {

constexpr Family kRegions{"region.h", "RegionCall"};

RegionCall region_call(const Tensor& images, const Tensor& boxes, const Tensor& bins, double scale,
                       int64_t samples, bool aligned) {
  RegionCall call{};
  call.boxes = memory(boxes);
  call.images = images.size(0);
  call.channels = images.size(1);
  call.height = images.size(2);
  call.width = images.size(3);
  call.number = boxes.size(0);
  call.down = bins.size(2);
  call.across = bins.size(3);
  call.scale = scale;
  call.samples = samples;
  call.aligned = aligned;
  return call;
}

}  // namespace

void roi_align(const Tensor& input, const Tensor& rois, double scale, int64_t, int64_t, int64_t samples,
               bool aligned, const Tensor& out) {
  const DType dtype = input.dtype();
  check_dtype(kernels::domains::floating, dtype, "roi_align");
  const Tensor images = dense(input), boxes = dense(rois, dtype);
  into_dense(out, [&](const Tensor& made) {
    RegionCall call = region_call(images, boxes, made, scale, samples, aligned);
    call.in = memory(images);
    call.out = memory(made);
    static Variants variants;
    run_over(kRegions, variants, key_of({int(dtype)}), "roi_align", made, made.numel(), call,
             [&] { return join_text("region_averaged<", type_text(dtype), ">"); });
  });
}

// Sums of halves are made in float, and rounded once.
void roi_align_backward(const Tensor& grad, const Tensor& rois, double scale, int64_t, int64_t, int64_t,
                        int64_t, int64_t, int64_t, int64_t samples, bool aligned, const Tensor& out) {
  const DType dtype = grad.dtype();
  check_dtype(kernels::domains::floating, dtype, "roi_align_backward");
  const Tensor gradient = dense(grad), boxes = dense(rois, dtype);
  const bool direct = out.is_contiguous() && out.dtype() == compute_dtype(dtype);
  const Tensor made = direct ? out : new_tensor(out.sizes(), compute_dtype(dtype), out.device());
  gpu().fill(made, Scalar(0));
  RegionCall call = region_call(out, boxes, gradient, scale, samples, aligned);
  call.in = memory(gradient);
  call.out = memory(made);
  static Variants variants;
  run_over(kRegions, variants, key_of({int(dtype)}), "roi_align_backward", made, gradient.numel(), call,
           [&] { return join_text("region_spread<", type_text(dtype), ">"); });
  if (!direct) gpu().copy_on_device(made, out);
}

}  // namespace mt::cuda
