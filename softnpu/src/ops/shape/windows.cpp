// Sliding windows, and channels in another order.
#include "kernels/common/accumulate.h"
#include "kernels/padding/edges.h"
#include "op_plans.h"
#include "ops/common/arguments.h"
#include "ops/common/shapes.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

k::SlidingWindow window_of(const Plan& plan, const std::vector<int64_t>& image, const aclIntArray* kernelSize,
                           const aclIntArray* dilation, const aclIntArray* padding,
                           const aclIntArray* stride) {
  const auto two = [&](const aclIntArray* array, const char* name, int64_t least) {
    const std::vector<int64_t> values = list_for(plan, array, name, 2);
    require_at_least(plan, values, name, least);
    return std::array{values[0], values[1]};
  };
  k::SlidingWindow w{{image[0], image[1]},         two(kernelSize, "kernelSize", 1),
                     two(dilation, "dilation", 1), two(padding, "padding", 0),
                     two(stride, "stride", 1),     {}};
  for (size_t i = 0; i < 2; ++i) {
    const int64_t room = w.image[i] + 2 * w.padding[i] - w.dilation[i] * (w.kernel[i] - 1) - 1;
    if (room < 0) plan.invalid("a window of ", w.kernel[i], " does not fit into ", w.image[i], " pixels");
    w.places[i] = room / w.stride[i] + 1;
  }
  return w;
}

std::vector<int64_t> columns_shape(const Operand& image, const k::SlidingWindow& w) {
  std::vector<int64_t> sizes(image.sizes, image.sizes + image.ndim - 3);
  sizes.push_back(image.sizes[image.ndim - 3] * w.kernel[0] * w.kernel[1]);
  sizes.push_back(w.places[0] * w.places[1]);
  return sizes;
}
void require_image(const Plan& plan, const Operand& image, const char* name) {
  if (image.ndim != 3 && image.ndim != 4)
    plan.invalid("tensor '", name, "' has shape ", shape_text(image), ", wanted [N, C, H, W] or [C, H, W]");
}

}  // namespace

void Im2col(Plan& plan, const aclTensor* self, const aclIntArray* kernelSize, const aclIntArray* dilation,
            const aclIntArray* padding, const aclIntArray* stride, const aclTensor* out) {
  const Operand image = plan.input(self, "self"), columns = plan.output(out, "out");
  require_image(plan, image, "self");
  plan.require_same_dtype(image, "self", columns, "out");
  const k::SlidingWindow w = window_of(plan, {image.sizes[image.ndim - 2], image.sizes[image.ndim - 1]},
                                       kernelSize, dilation, padding, stride);
  plan.require_shape(columns, "out", columns_shape(image, w));
  plan.run([=](const aclOpExecutor& e) { k::image_to_columns(image.view(e), w, columns.view(e)); });
}

void Im2colBackward(Plan& plan, const aclTensor* gradOutput, const aclIntArray* inputSize,
                    const aclIntArray* kernelSize, const aclIntArray* dilation, const aclIntArray* padding,
                    const aclIntArray* stride, aclTensor* out) {
  const Operand columns = plan.input(gradOutput, "gradOutput"), image = plan.output(out, "out");
  require_image(plan, image, "out");
  plan.require_same_dtype(columns, "gradOutput", image, "out");
  plan.require_dtype(columns, "gradOutput", domains::floating);
  const std::vector<int64_t> size = list_for(plan, inputSize, "inputSize", 2);
  const k::SlidingWindow w = window_of(plan, size, kernelSize, dilation, padding, stride);
  if (image.sizes[image.ndim - 2] != size[0] || image.sizes[image.ndim - 1] != size[1])
    plan.invalid("tensor 'out' has shape ", shape_text(image), ", wanted an image of ", size[0], " x ",
                 size[1]);
  plan.require_shape(columns, "gradOutput", columns_shape(image, w));
  plan.run([=](const aclOpExecutor& e) {
    const DType compute = image.dtype == DType::float64 ? DType::float64 : DType::float32;
    const k::Dense from(columns.view(e), compute, k::Access::read),
        to(image.view(e), compute, k::Access::write);
    k::columns_to_image(from.view(), w, to.view());
    to.store();
  });
}

// The gradient of windows that slide along one dimension.
void UnfoldGrad(Plan& plan, const aclTensor* gradOut, const aclIntArray* inputSizes, int64_t dim,
                int64_t size, int64_t step, const aclTensor* gradIn) {
  const Operand given = plan.input(gradOut, "gradOut"), result = plan.output(gradIn, "gradIn");
  plan.require_shape(result, "gradIn", int_list(plan, inputSizes, "inputSizes"));
  plan.require_dtype(given, "gradOut", domains::floating);
  plan.require_same_dtype(given, "gradOut", result, "gradIn");
  // The windows of a scalar are one vector.
  const Operand to = at_least_1d(result), grad = result.ndim == 0 ? unsqueezed(given, 0) : given;
  const int along = plan.dim(dim, to);
  if (size < 1 || step < 1 || size > to.sizes[along])
    plan.invalid("size is ", size, " and step is ", step, " along dim ", dim, " of shape ", shape_text(to));
  std::vector<int64_t> windows = sizes_of(to);
  windows[size_t(along)] = (windows[size_t(along)] - size) / step + 1;
  windows.push_back(size);
  plan.require_shape(grad, "gradOut", windows);
  plan.run([=](const aclOpExecutor& e) {
    const DType compute = to.dtype == DType::float64 ? DType::float64 : DType::float32;
    const k::Dense dy(grad.view(e), compute, k::Access::read), dx(to.view(e), compute, k::Access::write);
    k::fill(dx.view(), 0);
    std::vector<int64_t> strides(dx.view().strides, dx.view().strides + dx.view().ndim);
    strides.push_back(strides[size_t(along)]);
    strides[size_t(along)] *= step;
    const View overlapping{dx.view().data, windows.data(), strides.data(), int(windows.size()), compute};
    k::add_into(dy.view(), overlapping, step < size);
    dx.store();
  });
}

namespace {

// A dimension seen as two, the second of which is `inner`.
Operand split(const Operand& operand, int dim, int64_t inner) {
  Operand result = unsqueezed(operand, dim);
  result.sizes[dim] = operand.sizes[dim] / inner, result.strides[dim] = operand.strides[dim] * inner;
  result.sizes[dim + 1] = inner;
  return result;
}

void require_copy(const Plan& plan, const Operand& from, const Operand& to) {
  plan.require_same_dtype(from, "self", to, "out");
}

}  // namespace

void ChannelShuffle(Plan& plan, const aclTensor* self, int64_t groups, aclTensor* out) {
  const Operand in = plan.input(self, "self"), to = plan.output(out, "out");
  require_copy(plan, in, to);
  plan.require_same_shape(in, "self", to, "out");
  if (in.ndim < 3 || in.ndim > 7 || groups < 1 || in.sizes[1] % groups != 0)
    plan.invalid("the channels of tensor 'self' of shape ", shape_text(in), " cannot be shuffled in ", groups,
                 " groups");
  // Groups outside become groups inside.
  const Operand from = split(in, 1, std::max<int64_t>(in.sizes[1] / groups, 1)), made = split(to, 1, groups);
  Operand turned = made;
  std::swap(turned.sizes[1], turned.sizes[2]);
  std::swap(turned.strides[1], turned.strides[2]);
  plan.run([=](const aclOpExecutor& e) { k::copy(from.view(e), turned.view(e)); });
}

}  // namespace softnpu::ops
