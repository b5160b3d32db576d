#include "backends/cuda/elementwise.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "backends/cuda/device/arguments.h"
#include "backends/cuda/launch.h"
#include "backends/cuda/listed.h"
#include "core/reach.h"
#include "core/views.h"
#include "kernels/common/iterate.h"
#include "kernels/elementwise/compute_dtype.h"

namespace mt::cuda {
namespace {

enum Entry { kDense, kGrouped, kStrided, kStridedLong };
constexpr const char* kEntries[] = {"dense", "grouped", "strided", "strided_long"};
constexpr unsigned kThreads = kElementwiseThreads;
constexpr uint64_t kOverLists = uint64_t(1) << 63;  // in the key of a program
constexpr const char* kListEntries[] = {"listed", nullptr};
// Elements of a tensor whose launch is kept back: for larger ones it costs nothing, and blocks are counted in an int.
constexpr int64_t kMostKeptBack = int64_t(1) << 24;
constexpr int64_t kMostBlocks = 0x7fffffff;

std::string source_of(const Functor& functor, DType compute, const Tensor& out, const Operand* operands,
                      int inputs, bool over_lists) {
  std::string types =
      join_text(functor.space, functor.name, ", ", type_text(out.dtype()), ", ", type_text(compute));
  for (int i = 0; i < inputs; ++i)
    types += join_text(", ", operands[i].tensor ? type_text(operands[i].tensor->dtype()) : "mt::cuda::Given");
  return join_text(
      "#include \"backends/cuda/device/elementwise.h\"\n"
      "using E = mt::cuda::Elementwise<",
      types, ">;\n",
      over_lists ? "extern \"C\" __global__ void __launch_bounds__(128) listed(const __grid_constant__ "
                   "mt::cuda::ListedCall call) { E::listed(call); }\n"
                 : "extern \"C\" __global__ void __launch_bounds__(128) dense(const __grid_constant__ "
                   "mt::cuda::DenseCall "
                   "call) "
                   "{ E::dense(call); }\n"
                   "extern \"C\" __global__ void __launch_bounds__(128) grouped(const __grid_constant__ "
                   "mt::cuda::StridedCall call) "
                   "{ E::grouped(call); }\n"
                   "extern \"C\" __global__ void __launch_bounds__(128) strided(const __grid_constant__ "
                   "mt::cuda::StridedCall call) "
                   "{ E::strided<unsigned>(call); }\n"
                   "extern \"C\" __global__ void __launch_bounds__(128) strided_long("
                   "const __grid_constant__ mt::cuda::StridedCall call) { E::strided<unsigned long "
                   "long>(call); }\n");
}

template <class T>
void store(const Scalar& value, char* bytes) {
  const T number = value.to<T>();
  std::memcpy(bytes, &number, sizeof number);
}

void store_number(const Scalar& value, DType compute, char* bytes) {
  switch (compute) {
#define X(name, type, legacy) \
  case DType::name: return store<type>(value, bytes);
    MT_FORALL_DTYPES(X)
#undef X
    default: fail(ErrorKind::runtime, "a number cannot take part in arithmetic of this dtype");
  }
}

Divisor divisor_of(int64_t value) {
  const auto number = unsigned(value);
  const unsigned shift = unsigned(std::bit_width(number - 1));
  const uint64_t factor = ((uint64_t(1) << 32) * ((uint64_t(1) << shift) - number)) / number + 1;
  return {number, unsigned(factor), shift};
}

int64_t elements_together(const Tensor& out, const Operand* operands, int inputs) {
  size_t widest = itemsize(out.dtype());
  for (int i = 0; i < inputs; ++i)
    if (operands[i].tensor) widest = std::max(widest, itemsize(operands[i].tensor->dtype()));
  return widest >= 16 ? 1 : std::min<int64_t>(16 / int64_t(widest), 8);  // Elementwise::kTogether
}

// The same dense layout as the result's, and aligned for groups of elements.
bool runs_along(const Tensor& tensor, const Tensor& out, int64_t together) {
  if (reinterpret_cast<uintptr_t>(tensor.data()) % (itemsize(tensor.dtype()) * size_t(together)) != 0)
    return false;
  if (tensor.same(out)) return true;
  if (tensor.is_contiguous() && out.is_contiguous()) return tensor.numel() == out.numel();
  return std::ranges::equal(tensor.sizes(), out.sizes()) &&
         std::ranges::equal(tensor.strides(), out.strides());
}

kernels::View view_of(const Tensor& t) {
  check_reach(t);
  return {t.data(), t.impl()->sizes(), t.impl()->strides(), int(t.dim()), t.dtype(), -1};
}

// Whether the innermost dimension consists of groups that every operand has dense and aligned, or once; `repeated` gets a
// bit for each of the latter.
bool groups_along(const kernels::Plan& plan, const kernels::View* views, int64_t together, int& repeated) {
  if (together == 1 || plan.sizes[0] % together != 0 || plan.numel / together > INT32_MAX) return false;
  repeated = 0;
  for (int t = 0; t < plan.operands; ++t) {
    const auto item = int64_t(itemsize(views[t].dtype)), group = item * together;
    if (t > 0 && plan.strides[t][0] == 0) {
      repeated |= 1 << t;
      continue;
    }
    if (plan.strides[t][0] != item || reinterpret_cast<uintptr_t>(plan.data[t]) % size_t(group) != 0)
      return false;
    for (int d = 1; d < plan.ndim; ++d)
      if (plan.strides[t][d] % group != 0) return false;
  }
  return true;
}

// The bits of tensors as bits of operands, of which some may be numbers.
int placed(int bits, const int* place, int tensors) {
  int made = 0;
  for (int t = 0; t < tensors; ++t) made |= (bits >> t & 1) << place[t];
  return made;
}

}  // namespace

void run_elementwise(const Functor& functor, Variants& variants, const char* name, DType compute,
                     const Tensor& out, std::initializer_list<Operand> given, const Scalar* parameters) {
  if (!kernels::contains(functor.domain, compute)) [[unlikely]]
    kernels::fail_unsupported(functor.name, compute);
  compute = compute_dtype(compute);
  int64_t count = out.numel();
  if (count == 0) return;
  const int device = out.device().index;
  const Operand* operands = given.begin();
  const int inputs = int(given.size());

  uint64_t key = uint64_t(out.dtype()) | uint64_t(compute) << 6;
  for (int i = 0; i < inputs; ++i)
    key |= uint64_t(operands[i].tensor ? int(operands[i].tensor->dtype()) : 63) << (12 + 6 * i);

  const auto program = [&](uint64_t form, const char* const* entries) -> const Loaded& {
    gpu().activate(device);
    return variants.find(key | form, device, entries, [&] {
      return source_of(functor, compute, out, operands, inputs, form == kOverLists);
    });
  };

  Numbers numbers{};  // all of its bytes: lists compare them
  for (int i = 0; i < functor.parameters; ++i)
    store_number(parameters[i], compute, numbers.bytes + i * int(itemsize(compute)));
  for (int i = 0; i < inputs; ++i)
    if (operands[i].number) store_number(*operands[i].number, compute, numbers.bytes + kMaxNumbers * 16);

  const int64_t together = elements_together(out, operands, inputs);
  bool dense = views::is_dense(out) && runs_along(out, out, together);
  for (int i = 0; i < inputs && dense; ++i)
    dense = !operands[i].tensor || runs_along(*operands[i].tensor, out, together);
  if (dense) {
    DenseCall call;
    call.data[0] = out.data();
    for (int i = 0; i < inputs; ++i)
      call.data[i + 1] = operands[i].tensor ? operands[i].tensor->data() : nullptr;
    call.count = count;
    call.numbers = numbers;
    const int64_t each = int64_t(kThreads) * together * 2;
    if (kept_back().open() && count <= kMostKeptBack) {
      const Tensor* tensors[kMaxOperands] = {&out};
      size_t number = 1;
      for (int i = 0; i < inputs; ++i)
        if (operands[i].tensor) tensors[number++] = operands[i].tensor;
      return kept_back().add(program(kOverLists, kListEntries).entries[0], name, call, each,
                             {tensors, number});
    }
    const Loaded& loaded = program(0, kEntries);
    return launch_with(loaded.entries[kDense], name, device, {unsigned((count + each - 1) / each)},
                       {kThreads}, 0, call);
  }

  kernels::View views[kMaxOperands];
  const kernels::View* aligned[kMaxOperands];
  int tensors = 0, place[kMaxOperands] = {};
  views[tensors++] = view_of(out);
  for (int i = 0; i < inputs; ++i)
    if (operands[i].tensor) place[tensors] = i + 1, views[tensors++] = view_of(*operands[i].tensor);
  for (int i = 0; i < tensors; ++i) aligned[i] = &views[i];
  kernels::Plan plan;
  kernels::make_plan(plan, aligned, tensors);
  MT_CHECK(plan.ndim <= kMaxKernelDims, name, ": tensors with more than ", kMaxKernelDims,
           " dimensions that cannot be merged are not supported on CUDA; got ", plan.ndim);
  StridedCall call{};
  const bool grouped = groups_along(plan, views, together, call.repeated);
  if (grouped) {
    plan.sizes[0] /= together;
    for (int t = 0; t < tensors; ++t) plan.strides[t][0] *= together;
    call.repeated = placed(call.repeated, place, tensors);
    count /= together;
  }
  call.count = count;
  call.dims = plan.ndim;
  call.numbers = numbers;
  for (int t = 0; t < tensors; ++t) call.data[place[t]] = plan.data[t];
  for (int d = 0; d < plan.ndim; ++d) {
    call.long_sizes[d] = plan.sizes[d];
    if (count <= INT32_MAX) call.sizes[d] = divisor_of(plan.sizes[d]);
    for (int t = 0; t < tensors; ++t) call.strides[d][place[t]] = plan.strides[t][d];
  }
  const unsigned blocks = unsigned(std::min<int64_t>((count + kThreads - 1) / kThreads, kMostBlocks));
  const Loaded& loaded = program(0, kEntries);
  const Entry entry = grouped ? kGrouped : count <= INT32_MAX ? kStrided : kStridedLong;
  launch_with(loaded.entries[entry], name, device, {blocks}, {kThreads}, 0, call);
}

void run_unary(const Functor& functor, Variants& variants, const char* name, const Tensor& self,
               const Tensor& out, const Scalar* parameters, bool to_bool) {
  const auto widened = [](DType t) { return t == DType::complex32 ? DType::complex64 : t; };
  const DType compute = to_bool ? self.dtype()
                                : kernels::unary_compute_dtype(functor.domain, functor.parameters,
                                                               widened(self.dtype()), widened(out.dtype()));
  run_elementwise(functor, variants, name, compute, out, {self}, parameters);
}

}  // namespace mt::cuda
