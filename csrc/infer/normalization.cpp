// The argument `needs` of backward rules is a bit mask: gradients of the input (1), the weight (2) and the bias (4); the
// others come out empty.
#include "generated/infer/normalization.h"

#include "core/copy_on_write.h"
#include "infer/checks.h"

namespace mt::infer {
namespace {

// Parameters have the input's dtype, or float32 beside a half type; statistics have the parameters' dtype.
DType parameter_dtype(const Tensor& input, std::initializer_list<const Tensor*> parameters) {
  DType dtype = input.dtype();
  const bool half = dtype == DType::float16 || dtype == DType::bfloat16;
  for (const Tensor* p : parameters) {
    if (!p->defined() || p->dtype() == input.dtype()) continue;
    MT_CHECK(half, "mixed dtype (CPU): all inputs must share same datatype.");
    MT_CHECK(p->dtype() == DType::float32,
             "mixed dtype (CPU): expect parameter to have scalar type of Float");
    dtype = DType::float32;
  }
  return dtype;
}

void check_floating(const char* name, const Tensor& input) {
  MT_CHECK_AS(not_implemented, is_floating(input.dtype()), '"', name, "\" not implemented for '",
              info(input.dtype()).legacy, "'");
}

void check_elements(const char* name, const Tensor& t, int64_t count) {
  MT_CHECK(!t.defined() || t.numel() == count, name, " should contain ", count, " elements not ",
           t.defined() ? t.numel() : 0);
}

void check_same_shape(const Tensor& grad, const Tensor& input) {
  MT_CHECK(std::ranges::equal(grad.sizes(), input.sizes()), "normalisation: a gradient of size ",
           to_string(grad.sizes()), " for an input of size ", to_string(input.sizes()));
}

// Output layouts the kernels write: channels_last where the input has it, else row by row.
void prepare_like(const Tensor& input, Output& out) {
  const bool inside =
      !input.is_contiguous() && ((input.dim() == 4 && input.is_contiguous(MemoryFormat::channels_last)) ||
                                 (input.dim() == 5 && input.is_contiguous(MemoryFormat::channels_last_3d)));
  out.prepare(input.sizes(), input.dtype(), input.device(), inside ? &input : nullptr);
}

void prepare_gradients(const Tensor& input, IntList parameter_shape, DType parameter_dtype, int64_t needs,
                       Output& grad_input, Output& grad_weight, Output& grad_bias) {
  const int64_t none[] = {0};
  if (needs & 1) prepare_like(input, grad_input);
  else grad_input.prepare(none, input.dtype(), input.device());
  grad_weight.prepare(needs & 2 ? parameter_shape : IntList(none), parameter_dtype, input.device());
  grad_bias.prepare(needs & 4 ? parameter_shape : IntList(none), parameter_dtype, input.device());
}

}  // namespace

void layer_norm(const Tensor& input, IntList normalized_shape, const Tensor& weight, const Tensor& bias,
                double, Output& out, Output& mean, Output& rstd) {
  check_normalized_shape(input, normalized_shape);
  check_shape_like("weight", weight, normalized_shape);
  check_shape_like("bias", bias, normalized_shape);
  check_floating("LayerNormKernelImpl", input);
  check_same_device({&input, &weight, &bias});
  const DType statistics = parameter_dtype(input, {&weight, &bias});
  Dims outer(input.sizes());
  for (size_t i = outer.size() - normalized_shape.size(); i < outer.size(); ++i) outer[i] = 1;
  out.prepare(input.sizes(), input.dtype(), input.device());
  mean.prepare(outer, statistics, input.device());
  rstd.prepare(outer, statistics, input.device());
}

void layer_norm_backward(const Tensor& grad, const Tensor& input, IntList normalized_shape,
                         const Tensor& mean, const Tensor& rstd, const Tensor& weight, int64_t needs,
                         Output& grad_input, Output& grad_weight, Output& grad_bias) {
  check_normalized_shape(input, normalized_shape);
  check_same_shape(grad, input);
  check_same_device({&grad, &input, &mean, &rstd, &weight});
  const int64_t none[] = {0};
  const DType dtype = weight.defined() ? weight.dtype() : input.dtype();
  grad_input.prepare(needs & 1 ? input.sizes() : IntList(none), input.dtype(), input.device());
  grad_weight.prepare(needs & 2 ? normalized_shape : IntList(none), dtype, input.device());
  grad_bias.prepare(needs & 4 ? normalized_shape : IntList(none), dtype, input.device());
}

void group_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t n, int64_t c,
                int64_t hxw, int64_t group, double, Output& out, Output& mean, Output& rstd) {
  MT_CHECK(group > 0, "Expected num groups to be greater than 0, got ", group);
  MT_CHECK(n >= 0 && c >= 0 && hxw >= 0 && c % group == 0,
           "Expected number of channels in input to be divisible by num_groups, but got input of shape ",
           to_string(input.sizes()), " and num_groups=", group);
  MT_CHECK(input.numel() == checked_numel(Dims{n, c, hxw}), "native_group_norm: N * C * HxW = ", n, " * ", c,
           " * ", hxw, " does not match an input of size ", to_string(input.sizes()));
  for (const Tensor* p : {&weight, &bias})
    MT_CHECK(
        !p->defined() || (p->dim() == 1 && p->numel() == c), "Expected ", p == &weight ? "weight" : "bias",
        " to be a vector of size equal to the number of channels in input, but got ",
        p == &weight ? "weight" : "bias", " of shape ", p->defined() ? to_string(p->sizes()) : std::string(),
        " and input of shape ", to_string(input.sizes()));
  check_floating("GroupNormKernelImpl", input);
  check_same_device({&input, &weight, &bias});
  const DType statistics = parameter_dtype(input, {&weight, &bias});
  const int64_t sizes[] = {n, group};
  out.prepare_images(input.sizes(), input.dtype(), input.device(), {&input});
  mean.prepare(sizes, statistics, input.device());
  rstd.prepare(sizes, statistics, input.device());
}

void group_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& mean, const Tensor& rstd,
                         const Tensor& weight, int64_t, int64_t c, int64_t, int64_t, int64_t needs,
                         Output& grad_input, Output& grad_weight, Output& grad_bias) {
  check_same_shape(grad, input);
  check_same_device({&grad, &input, &mean, &rstd, &weight});
  const int64_t none[] = {0}, channels[] = {c};
  const DType dtype = weight.defined() ? weight.dtype() : input.dtype();
  grad_input.prepare_images(needs & 1 ? input.sizes() : IntList(none), input.dtype(), input.device(),
                            {&input});
  grad_weight.prepare(needs & 2 ? IntList(channels) : IntList(none), dtype, input.device());
  grad_bias.prepare(needs & 4 ? IntList(channels) : IntList(none), dtype, input.device());
}

void batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                const Tensor& running_var, bool training, double, double, Output& out, Output& save_mean,
                Output& save_invstd) {
  const int64_t channels = input.size(1);
  check_elements("running_mean", running_mean, channels);
  check_elements("running_var", running_var, channels);
  MT_CHECK(training || running_mean.defined(), "running_mean must be defined in evaluation mode");
  MT_CHECK(training || running_var.defined(), "running_var must be defined in evaluation mode");
  check_elements("weight", weight, channels);
  check_elements("bias", bias, channels);
  check_floating("batch_norm", input);
  check_same_device({&input, &weight, &bias, &running_mean, &running_var});
  const DType statistics = parameter_dtype(input, {&weight, &bias, &running_mean, &running_var});
  const int64_t kept[] = {training ? channels : 0};
  if (training) {  // the kernel moves them on
    if (running_mean.defined()) before_write(running_mean.storage());
    if (running_var.defined()) before_write(running_var.storage());
  }
  prepare_like(input, out);
  save_mean.prepare(kept, training ? statistics : input.dtype(), input.device());
  save_invstd.prepare(kept, training ? statistics : input.dtype(), input.device());
}

void batch_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                         const Tensor& running_mean, const Tensor& running_var, const Tensor& save_mean,
                         const Tensor& save_invstd, bool, double, int64_t needs, Output& grad_input,
                         Output& grad_weight, Output& grad_bias) {
  check_same_shape(grad, input);
  check_same_device({&grad, &input, &weight, &running_mean, &running_var, &save_mean, &save_invstd});
  const int64_t channels[] = {input.size(1)};
  prepare_gradients(input, channels, weight.defined() ? weight.dtype() : input.dtype(), needs, grad_input,
                    grad_weight, grad_bias);
}

}  // namespace mt::infer
