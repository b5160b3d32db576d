// Reductions that are more than a functor: where extremes lie, norms, logarithms of sums.
#include <cmath>

#include "backends/cuda/dense.h"
#include "backends/cuda/library_call.h"
#include "backends/cuda/program.h"
#include "backends/cuda/reduce.h"
#include "core/views.h"
#include "generated/cuda/reduce.h"
#include "kernels/elementwise/functors.h"
#include "kernels/reduce/functors.h"

namespace mt::cuda {
namespace {

constexpr Functor kLogSumExp{"log_sum_exp_op", "mt::cuda::", 0, kernels::domains::floating};
constexpr int64_t kPart = 8192, kMostParts = 1024;
constexpr size_t kExtremeBytes = 16;  // the widest Extreme of device/extreme.h

// Results are dense [outer, inner]; values may be null.
void find_extremes(const char* name, bool largest, const Tensor& in, const Along& lines, void* values,
                   const Tensor& places) {
  RunningCall call{};
  call.in = in.data();
  call.out = values;
  call.places = static_cast<long long*>(places.data());
  call.outer = lines.outer;
  call.length = call.part = lines.length;
  call.inner = lines.inner;
  enum Entry { kRows, kJoined, kColumns };
  const Place place(in);
  static Variants variants;
  const uint64_t key = uint64_t(in.dtype()) << 1 | uint64_t(largest);
  const Loaded& loaded =
      find_program(variants, key, place, "extreme.h", 3, [&]() -> std::vector<FamilyKernel> {
        const std::string types = join_text("<", type_text(in.dtype()), largest ? ", true>" : ", false>");
        return {{"extreme_rows" + types, "RunningCall"},
                {"extreme_joined" + types, "RunningCall", 32},
                {"extreme_columns" + types, "RunningCall"}};
      });
  if (lines.inner > 1) {
    const unsigned blocks = blocks_for(lines.outer * lines.inner);
    return launch_with(loaded.entries[kColumns], name, place.index(), {blocks}, {256}, 0, call);
  }
  // Few long rows: several blocks share each.
  const int64_t parts = lines.outer >= 256 ? 1 : std::clamp<int64_t>(lines.length / kPart, 1, kMostParts);
  call.part = (lines.length + parts - 1) / parts;
  const int64_t used = (lines.length + call.part - 1) / call.part;
  const Scratch carries(place, used > 1 ? size_t(lines.outer * used) * kExtremeBytes : 0);
  call.carries = carries.address();
  launch_with(loaded.entries[kRows], name, place.index(), {unsigned(lines.outer), unsigned(used)}, {256}, 0,
              call);
  if (used > 1)
    launch_with(loaded.entries[kJoined], name, place.index(), {unsigned(lines.outer)}, {32}, 0, call);
}

void check_lines(const char* name, const Tensor& self, int64_t dim, const Tensor& indices) {
  check_dtype(kernels::domains::every_ordered, self.dtype(), name);
  MT_CHECK(indices.dtype() == DType::int64, name, ": indices must be int64, got ",
           info(indices.dtype()).name);
  MT_CHECK_AS(index, indices.numel() == 0 || self.size(dim) > 0, name, "(): Expected reduction dim ", dim,
              " to have non-zero size.");
}

void arg_extreme(const char* name, bool largest, const Tensor& self, std::optional<int64_t> dim,
                 const Tensor& out) {
  if (!dim) {
    check_dtype(kernels::domains::every_ordered, self.dtype(), name);
    MT_CHECK_AS(
        index, self.numel() > 0, name,
        "(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
        "with the 'dim' argument.");
    const Tensor in = dense(self);
    const int64_t all = in.numel(), one = 1;
    const Tensor flat = views::window(in, {&all, 1}, {&one, 1}, in.offset());
    return into_dense(out, [&](const Tensor& places) {
      find_extremes(name, largest, in, Along(flat, 0), nullptr, places);
    });
  }
  const Tensor own = with_a_dim(self);
  const int64_t d = wrap_dim(*dim, own.dim());
  check_lines(name, own, d, out);
  if (out.numel() == 0) return;
  const Tensor in = dense(own);
  into_dense(out,
             [&](const Tensor& places) { find_extremes(name, largest, in, Along(in, d), nullptr, places); });
}

void extreme(const char* name, bool largest, const Tensor& self, int64_t dim, const Tensor& values,
             const Tensor& indices) {
  const Tensor own = with_a_dim(self);
  const int64_t d = wrap_dim(dim, own.dim());
  check_lines(name, own, d, indices);
  MT_CHECK(values.dtype() == self.dtype(), name, ": values must be ", info(self.dtype()).name, ", got ",
           info(values.dtype()).name);
  if (indices.numel() == 0) return;
  const Tensor in = dense(own);
  into_dense(values, [&](const Tensor& found) {
    into_dense(indices, [&](const Tensor& places) {
      find_extremes(name, largest, in, Along(in, d), found.data(), places);
    });
  });
}

template <class F>
void reduce_by(const char* name, const Tensor& self, const DimList& dim, const Tensor& out) {
  static Variants variants;
  run_reduce(functor_of<F>, F::empty_allowed, variants, name, self, dim, out);
}

}  // namespace

void argmax(const Tensor& self, std::optional<int64_t> dim, bool, const Tensor& out) {
  arg_extreme("argmax", true, self, dim, out);
}
void argmin(const Tensor& self, std::optional<int64_t> dim, bool, const Tensor& out) {
  arg_extreme("argmin", false, self, dim, out);
}
void max_dim(const Tensor& self, int64_t dim, bool, const Tensor& values, const Tensor& indices) {
  extreme("max", true, self, dim, values, indices);
}
void min_dim(const Tensor& self, int64_t dim, bool, const Tensor& values, const Tensor& indices) {
  extreme("min", false, self, dim, values, indices);
}

void logsumexp(const Tensor& self, const DimList& dim, bool, const Tensor& out) {
  static Variants variants;
  run_reduce(kLogSumExp, true, variants, "logsumexp", self, dim, out);
}

void vector_norm(const Tensor& self, const Scalar& ord, const DimList& dim, bool, std::optional<DType>,
                 const Tensor& out) {
  const char* name = "linalg_vector_norm";
  const double p = ord.to<double>();
  if (p == 0) return reduce_by<kernels::norm_zero_op>(name, self, dim, out);
  if (p == 1) return reduce_by<kernels::norm_one_op>(name, self, dim, out);
  if (p == 2) return reduce_by<kernels::norm_two_op>(name, self, dim, out);
  if (std::isinf(p))
    return p > 0 ? reduce_by<kernels::norm_max_op>(name, self, dim, out)
                 : reduce_by<kernels::norm_min_op>(name, self, dim, out);
  // Other orders are rare: the powers are made first.
  const bool wide = out.dtype() == DType::float64;
  const DType real = wide ? DType::float64 : DType::float32;
  const DType compute = !is_complex(self.dtype()) ? real : wide ? DType::complex128 : DType::complex64;
  const Tensor powers = new_tensor(self.sizes(), real, self.device());
  const Scalar power(p), inverse(1 / p);
  static Variants sizes, raised, lowered;
  run_elementwise(functor_of<kernels::abs_op>, sizes, name, compute, powers, {self}, nullptr);
  run_elementwise(functor_of<kernels::pow_scalar_op>, raised, name, real, powers, {powers}, &power);
  const Tensor total = new_tensor(out.sizes(), real, out.device());
  reduce_by<kernels::sum_op>(name, powers, dim, total);
  run_elementwise(functor_of<kernels::pow_scalar_op>, lowered, name, real, out, {total}, &inverse);
}

void hash_tensor(const Tensor& self, const DimList& dim, bool, int64_t, const Tensor& out) {
  // The exclusive or of the elements' bits, as double or as int64.
  const Tensor wide = dense(self, is_floating(self.dtype()) ? DType::float64 : DType::int64);
  const auto as_bits = [](const Tensor& t) {
    return tensor_over(t.storage_ref(), DType::int64, t.sizes(), t.strides(), t.offset());
  };
  reduce_by<kernels::xor_op>("hash_tensor", as_bits(wide), dim, as_bits(out));
}

}  // namespace mt::cuda
