#include "backends/cuda/reduce.h"

#include <algorithm>
#include <vector>

#include "backends/cuda/device/arguments.h"
#include "backends/cuda/launch.h"
#include "backends/cuda/library_call.h"
#include "core/reach.h"
#include "infer/infer.h"
#include "kernels/elementwise/compute_dtype.h"

namespace mt::cuda {
namespace {

enum Entry { kRows, kColumns, kWhole, kParts };
constexpr const char* kEntries[] = {"rows", "columns", "whole", "parts"};
constexpr size_t kWidestAccumulator = 24;  // Spread<double>

std::string source_of(const Functor& functor, DType compute, DType in, DType out) {
  std::string text =
      join_text("#include \"backends/cuda/device/reduce.h\"\nusing R = mt::cuda::Reduce<", functor.space,
                functor.name, ", ", type_text(out), ", ", type_text(compute), ", ", type_text(in), ">;\n");
  for (const char* entry : kEntries)
    text += join_text("extern \"C\" __global__ void ", entry,
                      "(const __grid_constant__ mt::cuda::ReduceCall call) { R::", entry, "(call); }\n");
  return text;
}

struct Dim {
  int64_t size, stride, out_stride;
};

// Innermost first, neighbours merged.
void merge(std::vector<Dim>& dims) {
  std::ranges::stable_sort(dims, {}, &Dim::stride);
  size_t kept = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (kept && dims[i].stride == dims[kept - 1].stride * dims[kept - 1].size &&
        dims[i].out_stride == dims[kept - 1].out_stride * dims[kept - 1].size) {
      dims[kept - 1].size *= dims[i].size;
    } else {
      dims[kept++] = dims[i];
    }
  }
  dims.resize(kept);
}

int64_t product(const std::vector<Dim>& dims) {
  int64_t count = 1;
  for (const Dim& dim : dims) count *= dim.size;
  return count;
}

// How many parts the terms of an output are split into, so that there is work for the whole chip.
int64_t parts_for(int64_t blocks, int64_t terms, int64_t terms_per_block, int processors) {
  const int64_t wanted = std::max<int64_t>(1, int64_t(processors) * 4 / std::max<int64_t>(blocks, 1));
  const int64_t possible = std::max<int64_t>(1, terms / (terms_per_block * 8));
  return std::min({wanted, possible, int64_t(1024)});
}

}  // namespace

void run_reduce(const Functor& functor, bool empty_allowed, Variants& variants, const char* name,
                const Tensor& self, const DimList& dim, const Tensor& out, double number) {
  const DType asked = kernels::reduce_compute_dtype(functor.domain, self.dtype(), out.dtype());
  if (!kernels::contains(functor.domain, asked)) [[unlikely]]
    kernels::fail_unsupported(functor.name, asked);
  const DType compute = compute_dtype(asked);
  if (out.numel() == 0) return;
  check_reach(self);
  check_reach(out);

  const uint64_t folds = infer::dim_mask(dim, self.dim());
  const bool kept = out.dim() == self.dim();
  std::vector<Dim> outer, inner;
  int64_t out_dim = 0;
  for (int64_t d = 0; d < self.dim(); ++d) {
    const bool fold = folds >> d & 1;
    if (fold) {
      if (self.size(d) != 1) inner.push_back({self.size(d), self.stride(d), 0});
    } else if (self.size(d) != 1) {
      outer.push_back({self.size(d), self.stride(d), out.stride(kept ? d : out_dim)});
    }
    if (!fold) ++out_dim;
  }
  const int64_t outputs = product(outer), terms = product(inner);
  MT_CHECK(terms > 0 || empty_allowed, name,
           ": Expected reduction dim to be specified for input.numel() == 0. Specify "
           "the reduction dim with the 'dim' argument.");
  for (Dim& d : inner) d.out_stride = d.stride;  // so that merging looks at one stride
  merge(inner);
  merge(outer);
  MT_CHECK(outer.size() <= kMaxKernelDims && inner.size() <= kMaxKernelDims, name,
           ": tensors with more than ", kMaxKernelDims,
           " dimensions that cannot be merged are not supported on CUDA");

  const int device = out.device().index;
  gpu().activate(device);
  const uint64_t key = uint64_t(out.dtype()) | uint64_t(compute) << 6 | uint64_t(self.dtype()) << 12;
  const Loaded& loaded = variants.find(
      key, device, kEntries, [&] { return source_of(functor, compute, self.dtype(), out.dtype()); });

  ReduceCall call{};
  call.in = self.data();
  call.out = out.data();
  call.outputs = outputs;
  call.terms = call.count = terms;
  call.number = number;
  call.kept_dims = int(outer.size());
  call.folded_dims = int(inner.size());
  for (size_t d = 0; d < outer.size(); ++d) {
    call.kept_sizes[d] = outer[d].size;
    call.kept_strides[d] = outer[d].stride;
    call.out_strides[d] = outer[d].out_stride;
  }
  for (size_t d = 0; d < inner.size(); ++d) {
    call.folded_sizes[d] = inner[d].size;
    call.folded_strides[d] = inner[d].stride;
  }
  if (inner.empty()) call.folded_dims = 1, call.folded_sizes[0] = 1, call.folded_strides[0] = 0;

  // Threads of a warp read what lies side by side: outputs, if their terms are farther apart than they themselves.
  const bool by_columns =
      !outer.empty() && !inner.empty() && outer[0].stride < inner[0].stride && outputs >= 32;
  const int processors = driver().attribute(device, kProcessors);
  Entry entry;
  Shape grid, block;
  int64_t blocks, terms_at_once;
  if (by_columns) {
    unsigned depth = 1;
    while (depth < 16 && int64_t(depth) * 8 < terms) depth *= 2;
    entry = kColumns, block = {32, depth};
    blocks = (outputs + 31) / 32, terms_at_once = depth;
  } else if (terms <= 1024) {
    entry = kRows, block = {32, 8};
    blocks = (outputs + 7) / 8, terms_at_once = 32;
  } else {
    entry = kWhole, block = {512};
    blocks = outputs, terms_at_once = 512;
  }
  const int64_t parts = parts_for(blocks, terms, terms_at_once, processors);
  call.terms_per_part = (terms + parts - 1) / parts;
  if (!by_columns && inner.size() == 1 && inner[0].stride == 1) {
    const auto group = int64_t(16 / std::min<size_t>(16, itemsize(self.dtype())));
    call.terms_per_part = (call.terms_per_part + group - 1) / group * group;
    call.dense_groups = reinterpret_cast<uintptr_t>(self.data()) % 16 == 0;
    for (const Dim& d : outer) call.dense_groups = call.dense_groups && d.stride % group == 0;
  }
  grid = {unsigned(blocks), unsigned(parts)};
  if (parts == 1) return launch_with(loaded.entries[entry], name, device, grid, block, 0, call);

  const Scratch partial(Place(out), size_t(outputs * parts) * kWidestAccumulator);
  call.out = partial.address();
  launch_with(loaded.entries[entry], name, device, grid, block, 0, call);
  call.in = partial.address();
  call.dense_groups = 0;
  call.out = out.data();
  call.terms = parts;
  launch_with(loaded.entries[kParts], name, device, {unsigned((outputs + 7) / 8)}, {32, 8}, 0, call);
}

}  // namespace mt::cuda
