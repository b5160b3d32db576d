#include "infer/infer.h"

namespace mt::infer {

uint64_t dim_mask(const DimList& dims, int64_t ndim) {
  if (dims.all()) return ~uint64_t(0);
  uint64_t mask = 0;
  for (int64_t dim : dims.dims()) {
    const int64_t d = wrap_dim(dim, ndim);
    MT_CHECK(!(mask >> d & 1), "dim ", d, " appears multiple times in the list of dims");
    mask |= uint64_t(1) << d;
  }
  return mask;
}

Dims reduced_shape(IntList sizes, const DimList& dims, bool keepdim) {
  const uint64_t mask = dim_mask(dims, int64_t(sizes.size()));
  Dims out;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!(mask >> i & 1)) out.push_back(sizes[i]);
    else if (keepdim) out.push_back(1);
  }
  return out;
}

void reduce(const Tensor& self, const DimList& dim, bool keepdim, std::optional<DType> dtype, Rule rule,
            Output& out) {
  DType result = dtype.value_or(self.dtype());
  if (rule == Rule::boolean) result = self.dtype() == DType::uint8 ? DType::uint8 : DType::boolean;
  else if (rule == Rule::sum && !dtype && is_integral(result, true)) result = DType::int64;
  else if (rule == Rule::floating)
    MT_CHECK(is_differentiable(result), "mean(): could not infer output dtype. ",
             dtype ? "Optional" : "Input",
             " dtype must be either a floating point or complex dtype. Got: ", info(result).legacy);
  else if (rule == Rule::same && self.numel() == 0) {
    MT_CHECK(!dim.all(),
             "amax(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction "
             "dim with the 'dim' argument.");
    const uint64_t mask = dim_mask(dim, self.dim());
    for (int64_t d = 0; d < self.dim(); ++d)
      MT_CHECK_AS(index, !(mask >> d & 1) || self.sizes()[size_t(d)] != 0, "Expected reduction dim ", d,
                  " to have non-zero size.");
  }
  out.prepare(reduced_shape(self.sizes(), dim, keepdim), result, self.device());
}

void arg_reduce(const Tensor& self, std::optional<int64_t> dim, bool keepdim, Output& out) {
  MT_CHECK(!is_complex(self.dtype()), "argmax/argmin does not support complex inputs");
  if (dim) {
    const int64_t d = wrap_dim(*dim, self.dim());
    MT_CHECK_AS(index, self.dim() == 0 || self.sizes()[size_t(d)] != 0, "argmax(): Expected reduction dim ",
                d, " to have non-zero size.");
  } else {
    MT_CHECK_AS(index, self.numel() != 0,
                "argmax(): Expected reduction dim to be specified for input.numel() == 0. "
                "Specify the reduction dim with the 'dim' argument.");
  }
  out.prepare(reduced_shape(self.sizes(), dim ? DimList(*dim) : DimList(), keepdim), DType::int64,
              self.device());
}

void extremum_dim(const Tensor& self, int64_t dim, bool keepdim, Output& values, Output& indices) {
  const int64_t d = wrap_dim(dim, self.dim());
  MT_CHECK_AS(index, self.dim() == 0 || self.sizes()[size_t(d)] != 0, "max(): Expected reduction dim ", d,
              " to have non-zero size.");
  const Dims sizes = reduced_shape(self.sizes(), DimList(dim), keepdim);
  values.prepare(sizes, self.dtype(), self.device());
  indices.prepare(sizes, DType::int64, self.device());
}

void cat(TensorList tensors, int64_t dim, Output& out) {
  MT_CHECK_AS(value, !tensors.empty(), "torch.cat(): expected a non-empty list of Tensors");
  // Legacy: 1-D empty tensors are skipped whatever the others' shape.
  const Tensor* first = nullptr;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    MT_CHECK(t.dim() > 0, "zero-dimensional tensor (at position ", i, ") cannot be concatenated");
    MT_CHECK(t.device() == tensors[0].device(),
             "Expected all tensors to be on the same device, but found at least two devices, ",
             to_string(tensors[0].device()), " and ", to_string(t.device()), "!");
    if (!first && !(t.dim() == 1 && t.numel() == 0)) first = &t;
  }
  if (!first) first = &tensors[0];
  const size_t d = size_t(wrap_dim(dim, first->dim()));
  Dims sizes(first->sizes());
  sizes[d] = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    if (t.dim() == 1 && t.numel() == 0) continue;
    MT_CHECK(t.dim() == first->dim(), "Tensors must have same number of dimensions: got ", first->dim(),
             " and ", t.dim());
    for (size_t k = 0; k < sizes.size(); ++k)
      MT_CHECK(k == d || t.sizes()[k] == sizes[k], "Sizes of tensors must match except in dimension ", d,
               ". Expected size ", sizes[k], " but got size ", t.sizes()[k], " for tensor number ", i,
               " in the list.");
    sizes[d] += t.sizes()[d];
  }
  const DType dtype = result_type(tensors);
  if (!first->is_contiguous() && (sizes.size() == 4 || sizes.size() == 5)) {
    // Joined images stay channels-last if all of them are.
    const MemoryFormat format =
        sizes.size() == 4 ? MemoryFormat::channels_last : MemoryFormat::channels_last_3d;
    const bool all = std::ranges::all_of(tensors, [&](const Tensor& t) {
      return (t.dim() == 1 && t.numel() == 0) || (t.is_contiguous(format) && !t.is_contiguous());
    });
    if (all) {
      const Tensor pattern =
          tensor_over(new_storage({DeviceType::meta}, 0), dtype, sizes, strides_for(sizes, format), 0);
      return out.prepare(sizes, dtype, first->device(), &pattern);
    }
  }
  out.prepare(sizes, dtype, first->device());
}

void mm(const Tensor& self, const Tensor& mat2, Output& out) {
  MT_CHECK(self.dim() == 2, "self must be a matrix");
  MT_CHECK(mat2.dim() == 2, "mat2 must be a matrix");
  MT_CHECK(self.sizes()[1] == mat2.sizes()[0], "mat1 and mat2 shapes cannot be multiplied (", self.sizes()[0],
           "x", self.sizes()[1], " and ", mat2.sizes()[0], "x", mat2.sizes()[1], ")");
  check_same_device({&self, &mat2});
  MT_CHECK(self.dtype() == mat2.dtype(),
           "expected m1 and m2 to have the same dtype, but got: ", c_name(self.dtype()),
           " != ", c_name(mat2.dtype()));
  const int64_t sizes[] = {self.sizes()[0], mat2.sizes()[1]};
  out.prepare(sizes, self.dtype(), self.device());
}

void bmm(const Tensor& self, const Tensor& mat2, Output& out) {
  MT_CHECK(self.dim() == 3, "batch1 must be a 3D tensor");
  MT_CHECK(mat2.dim() == 3, "batch2 must be a 3D tensor");
  MT_CHECK(self.sizes()[0] == mat2.sizes()[0] && self.sizes()[2] == mat2.sizes()[1],
           "Expected size for first two dimensions of batch2 tensor to be: [", self.sizes()[0], ", ",
           self.sizes()[2], "] but got: [", mat2.sizes()[0], ", ", mat2.sizes()[1], "].");
  check_same_device({&self, &mat2});
  MT_CHECK(self.dtype() == mat2.dtype(), "expected scalar type ", info(self.dtype()).legacy, " but found ",
           info(mat2.dtype()).legacy);
  const int64_t sizes[] = {self.sizes()[0], self.sizes()[1], mat2.sizes()[2]};
  out.prepare(sizes, self.dtype(), self.device());
}

void addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar&, const Scalar&,
           Output& out) {
  MT_CHECK(mat1.dim() == 2, "mat1 must be a matrix, got ", mat1.dim(), "-D tensor");
  MT_CHECK(mat2.dim() == 2, "mat2 must be a matrix, got ", mat2.dim(), "-D tensor");
  MT_CHECK(mat1.sizes()[1] == mat2.sizes()[0], "mat1 and mat2 shapes cannot be multiplied (", mat1.sizes()[0],
           "x", mat1.sizes()[1], " and ", mat2.sizes()[0], "x", mat2.sizes()[1], ")");
  check_same_device({&self, &mat1, &mat2});
  MT_CHECK(self.dtype() == mat2.dtype(), "self and mat2 must have the same dtype, but got ",
           info(self.dtype()).legacy, " and ", info(mat2.dtype()).legacy);
  MT_CHECK(mat1.dtype() == mat2.dtype(), "mat1 and mat2 must have the same dtype, but got ",
           info(mat1.dtype()).legacy, " and ", info(mat2.dtype()).legacy);
  const int64_t sizes[] = {mat1.sizes()[0], mat2.sizes()[1]};
  const Dims meeting = broadcast(self.sizes(), sizes);
  MT_CHECK(std::ranges::equal(meeting, sizes), "The expanded size of the tensor (", to_string(sizes),
           ") must match the existing size ", to_string(self.sizes()));
  out.prepare(sizes, mat1.dtype(), mat1.device());
}

void softmax(const Tensor& self, int64_t dim, bool half_to_float, Output& out) {
  wrap_dim(dim, self.dim());
  MT_CHECK_AS(not_implemented, is_floating(self.dtype()),
              "\"softmax_lastdim_kernel_impl\" not implemented for '", info(self.dtype()).legacy, "'");
  out.prepare(self.sizes(), half_to_float ? DType::float32 : self.dtype(), self.device());
}

void softmax_backward(const Tensor& grad, const Tensor& output, int64_t dim, DType input_dtype, Output& out) {
  wrap_dim(dim, output.dim());
  check_same_device({&grad, &output});
  MT_CHECK(std::ranges::equal(grad.sizes(), output.sizes()), "softmax_backward: grad of size ",
           to_string(grad.sizes()), " for an output of size ", to_string(output.sizes()));
  out.prepare(output.sizes(), input_dtype, output.device());
}

namespace {

void check_nll(const Tensor& self, const Tensor& target, const Tensor& weight) {
  MT_CHECK(self.dim() > 0 && self.dim() <= 2, "input tensor should be 1D or 2D");
  MT_CHECK(target.dim() <= 1, "0D or 1D target tensor expected, multi-target not supported");
  check_same_device({&self, &target, &weight});
  MT_CHECK(target.dtype() == DType::int64, "expected target dtype to be Long or Byte, but got ",
           info(target.dtype()).legacy);
  const bool flat = self.dim() == 1 && target.dim() == 0;
  MT_CHECK(flat || self.sizes()[0] == target.numel(), "size mismatch (got input: ", to_string(self.sizes()),
           ", target: ", to_string(target.sizes()), ")");
  const int64_t classes = self.sizes()[size_t(self.dim() - 1)];
  MT_CHECK(!weight.defined() || weight.numel() == classes, "weight tensor should be defined either for all ",
           classes, " classes or no classes but got weight tensor of shape: ",
           weight.defined() ? to_string(weight.sizes()) : std::string());
}

}  // namespace

void nll_loss(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction, int64_t,
              Output& output, Output& total_weight) {
  check_nll(self, target, weight);
  MT_CHECK_AS(value, reduction >= 0 && reduction <= 2,
              "nll_loss: reduction must be 0 (none), 1 (mean) or 2 (sum), got ", reduction);
  const bool per_row = reduction == 0 && self.dim() == 2;
  output.prepare(per_row ? target.sizes() : IntList(), self.dtype(), self.device());
  total_weight.prepare({}, self.dtype(), self.device());
}

void nll_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target, const Tensor& weight,
                       int64_t, int64_t, const Tensor& total_weight, Output& out) {
  check_nll(self, target, weight);
  check_same_device({&grad, &self, &total_weight});
  out.prepare(self.sizes(), self.dtype(), self.device());
}

Dims strides_for(IntList sizes, MemoryFormat format) {
  Dims strides(sizes.size());
  if (format == MemoryFormat::contiguous || format == MemoryFormat::preserve) {
    contiguous_strides(sizes, strides.data());
    return strides;
  }
  const size_t wanted = format == MemoryFormat::channels_last ? 4 : 5;
  MT_CHECK(sizes.size() == wanted, "required rank ", wanted, " tensor to use channels_last",
           wanted == 5 ? "_3d" : "", " format");
  int64_t step = 1;
  for (size_t i = 0; i < wanted; ++i) {
    const size_t d = i == 0 ? 1 : (i == wanted - 1 ? 0 : wanted - i);
    strides[d] = step;
    step *= std::max<int64_t>(sizes[d], 1);
  }
  return strides;
}

namespace {

void prepare_copy(const Tensor& self, DType dtype, Device device, MemoryFormat format, Output& out) {
  if (format == MemoryFormat::preserve) return out.prepare(self.sizes(), dtype, device, &self);
  if (format == MemoryFormat::contiguous) return out.prepare(self.sizes(), dtype, device);
  const Tensor pattern = tensor_over(new_storage({DeviceType::meta}, 0), dtype, self.sizes(),
                                     strides_for(self.sizes(), format), 0);
  out.prepare(self.sizes(), dtype, device, &pattern);
}

}  // namespace

void clone(const Tensor& self, std::optional<MemoryFormat> format, Output& out) {
  prepare_copy(self, self.dtype(), self.device(), format.value_or(MemoryFormat::preserve), out);
}

void to_copy(const Tensor& self, std::optional<DType> dtype, std::optional<Device> device, bool,
             std::optional<MemoryFormat> format, Output& out) {
  prepare_copy(self, dtype.value_or(self.dtype()), device ? resolve_device(*device) : self.device(),
               format.value_or(MemoryFormat::preserve), out);
}

}  // namespace mt::infer
