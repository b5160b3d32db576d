// Operands brought into the shape that the kernels of device/index.h walk over.
#include "generated/cuda/index.h"

#include <limits>

#include "backends/cuda/dense.h"
#include "backends/cuda/elementwise.h"
#include "backends/cuda/program.h"
#include "core/views.h"
#include "infer/indexing.h"
#include "infer/infer.h"
#include "kernels/elementwise/functors.h"

namespace mt::cuda {
namespace {

constexpr Family kLookups{"index.h", "LookupCall"}, kNonzeros{"index.h", "NonzeroCall"},
    kRuns{"index.h", "RunsCall"}, kRunningSums{"cumulative.h", "RunningCall"};
constexpr Functor kWhere{"where_op", "mt::cuda::", 0, kernels::domains::stored};

enum class Way { read, write, add, multiply, min, max, offsets };

Tensor flat(const Tensor& t) {
  const int64_t size = t.numel(), one = 1;
  return views::window(t, {&size, 1}, {&one, 1}, t.offset());
}

// What is read through indices must not change under the kernel's hands.
void check_apart(const Tensor& written, std::initializer_list<const Tensor*> read) {
  for (const Tensor* t : read) {
    if (t->storage_ref() != written.storage_ref()) continue;
    MT_CHECK(!t->same(written) || written.numel() == 0,
             "unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
             "single memory location. Please clone() the tensor before performing the operation.");
    infer::refuse_partial_overlap(written, *t);
  }
}
// The old values in `out`, ready to be written over.
void start_from(const Tensor& self, const Tensor& out, std::initializer_list<const Tensor*> read) {
  check_apart(out, read);
  if (!out.same(self)) gpu().copy_on_device(self, out);
}

// Where indices lead: `table` has the index's shape and does not move along what the index replaces.
struct Lookup {
  Tensor index, table;
  int64_t size, stride;
  bool wraps;
};

Lookup lookup_along(const Tensor& self, int64_t dim, const Tensor& index, bool wraps = false) {
  const Tensor own = with_a_dim(self);
  const size_t d = size_t(wrap_dim(dim, own.dim()));
  Dims strides(own.strides());
  strides[d] = 0;
  return {index, views::window(own, index.sizes(), strides, own.offset()), own.sizes()[d], own.strides()[d],
          wraps};
}

// The index of one dimension of index_select and its kin, seen in the shape of `other`.
Tensor spread(const Tensor& index, IntList other, int64_t dim) {
  const Tensor at = with_a_dim(as_index(index));
  const Dims sizes = infer::at_least_1d(other);
  Dims strides(sizes.size(), 0);
  strides[size_t(wrap_dim(dim, int64_t(sizes.size())))] = at.strides()[0];
  return views::window(at, sizes, strides, at.offset());
}
// The part of src that the index covers.
Tensor covered(const Tensor& src, const Tensor& index) {
  const Tensor from = with_a_dim(src);
  return views::window(from, index.sizes(), from.strides(), from.offset());
}

std::string body_of(Way way, DType dtype) {
  switch (way) {
    case Way::read: return join_text("gathered<", unit_text(dtype), ">");
    case Way::write: return join_text("scattered<", unit_text(dtype), ">");
    case Way::add: return join_text("combined<", type_text(dtype), ", Combined::add>");
    case Way::multiply: return join_text("combined<", type_text(dtype), ", Combined::multiply>");
    case Way::min: return join_text("combined<", type_text(dtype), ", Combined::min>");
    case Way::max: return join_text("combined<", type_text(dtype), ", Combined::max>");
    default: return "offsets_added";
  }
}

void check_combination(const char* name, Way way, DType dtype) {
  using namespace kernels::domains;
  if (way == Way::add) check_dtype(every, dtype, name);
  // A number of 16 bytes cannot be multiplied in one step.
  if (way == Way::multiply) check_dtype(every & ~kernels::dtype_set(DType::complex128), dtype, name);
  if (way == Way::min || way == Way::max) check_dtype(every_ordered, dtype, name);
}

void look_up(const char* name, Way way, const Lookup& lookup, const Tensor& given) {
  const Tensor& table = lookup.table;
  check_combination(name, way, table.dtype());
  const Tensor same = way == Way::read || way == Way::offsets || given.dtype() == table.dtype()
                          ? given
                          : dense(given, table.dtype());
  const Tensor other = views::expand(same, lookup.index.sizes(), true);
  LookupCall call{};
  call.walk = walk_of({{other, call.other}, {table, call.table}, {lookup.index, call.index}});
  call.size = lookup.size;
  call.stride = lookup.stride;
  call.wraps = lookup.wraps;
  const bool by_width = way == Way::read || way == Way::write;
  const uint64_t key =
      uint64_t(way) | (by_width ? uint64_t(table.itemsize()) << 16 : uint64_t(table.dtype()) << 8);
  static Variants variants;
  run_over(kLookups, variants, key, name, table, call.walk.count, call,
           [&] { return body_of(way, table.dtype()); });
}

void look_up(const char* name, Way way, const Lookup& lookup, const Scalar& value) {
  if (lookup.index.numel() == 0) return;
  look_up(name, way, lookup, number_on_device(value, lookup.table.dtype(), lookup.table.device()));
}

void scatter_into(const char* name, const Tensor& out, int64_t dim, const Tensor& index, const Tensor& src,
                  Way way) {
  if (index.numel() == 0) return;
  const Tensor at = with_a_dim(as_index(index));
  look_up(name, way, lookup_along(out, dim, at), covered(src, at));
}
void scatter_into(const char* name, const Tensor& out, int64_t dim, const Tensor& index, const Scalar& value,
                  Way way) {
  if (index.numel() == 0) return;
  look_up(name, way, lookup_along(out, dim, with_a_dim(as_index(index))), value);
}

Way way_of(std::string_view reduce) {
  if (reduce == "multiply" || reduce == "prod") return Way::multiply;
  if (reduce == "amax") return Way::max;
  return reduce == "amin" ? Way::min : Way::add;  // sums, and means before they are divided
}

// What a reduction begins with where the old value does not count.
Scalar identity(Way way, DType dtype) {
  if (way == Way::multiply) return Scalar(1);
  if (way == Way::add) return Scalar(0);
  const bool lowest = way == Way::max;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (is_floating(dtype)) return Scalar(lowest ? -infinity : infinity);
  Scalar limit(0);
  kernels::dispatch<kernels::domains::every_ordered>(dtype, "scatter_reduce", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, bool>) limit = Scalar(!lowest);
    else if constexpr (std::is_integral_v<T>)
      limit = Scalar(int64_t(lowest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max()));
  });
  return limit;
}

// Divides the sums by how many values met in each place; where nobody came the value stays.
void divide_by_counts(const char* name, const Tensor& out, int64_t dim, const Tensor& index,
                      bool include_self) {
  const Tensor counts = new_tensor(infer::at_least_1d(out.sizes()), DType::int64, out.device());
  gpu().fill(counts, include_self ? 1 : 0);
  look_up(name, Way::add, lookup_along(counts, dim, index), Scalar(1));
  static Variants at_least_one, whole, divided;
  const Scalar one(1);
  run_elementwise(functor_of<kernels::maximum_op>, at_least_one, name, DType::int64, counts, {counts, one},
                  nullptr);
  const Tensor sums = with_a_dim(out);
  if (is_integral(out.dtype(), true))
    run_elementwise(functor_of<kernels::floor_divide_op>, whole, name, out.dtype(), sums, {sums, counts},
                    nullptr);
  else
    run_elementwise(functor_of<kernels::div_op>, divided, name, out.dtype(), sums, {sums, counts}, nullptr);
}

// `out` holds the old values; `index` has the shape of `src`.
void reduce_into(const char* name, const Tensor& out, int64_t dim, const Tensor& index, const Tensor& src,
                 std::string_view reduce, bool include_self) {
  if (index.numel() == 0) return;
  const Way way = way_of(reduce);
  const Lookup lookup = lookup_along(out, dim, index);
  if (!include_self) look_up(name, Way::write, lookup, identity(way, out.dtype()));
  look_up(name, way, lookup, src);
  if (reduce == "mean") divide_by_counts(name, out, dim, index, include_self);
}

// Broadcast to the result: the other dimensions have stride 0.
Tensor in_result(const Tensor& at, const infer::Indexing& plan) {
  const Tensor whole = views::expand(at, plan.index_sizes, false);
  Dims strides(plan.sizes.size(), 0);
  for (size_t i = 0; i < plan.index_sizes.size(); ++i) strides[plan.first + i] = whole.strides()[i];
  return views::window(whole, plan.sizes, strides, whole.offset());
}

// Several index tensors become one of offsets; one of them alone is used as it is.
Lookup lookup_several(const Tensor& self, TensorList indices) {
  const infer::Indexing plan = infer::indexing(self, indices);
  const Tensor table = views::window(self, plan.sizes, plan.table_strides, self.offset());
  if (plan.dims.size() == 1) {
    const size_t d = size_t(plan.dims[0]);
    return {in_result(index_on(indices[d], self.device()), plan), table, self.sizes()[d], self.strides()[d],
            true};
  }
  const Tensor offsets = new_tensor(plan.index_sizes, DType::int64, self.device());
  gpu().fill(offsets, 0);
  for (int64_t dim : plan.dims) {
    const size_t d = size_t(dim);
    const Tensor at = views::expand(index_on(indices[d], self.device()), plan.index_sizes, false);
    look_up("index", Way::offsets, {at, offsets, self.sizes()[d], self.strides()[d], true}, offsets);
  }
  return {in_result(offsets, plan), table, std::numeric_limits<int64_t>::max(), 1, false};
}

void fill_along(const Tensor& out, int64_t dim, const Tensor& index, const Tensor& value) {
  const Tensor own = with_a_dim(out);
  Dims sizes(own.sizes());
  sizes[size_t(wrap_dim(dim, own.dim()))] = index.numel();
  look_up("index_fill", Way::write, lookup_along(own, dim, spread(index, sizes, dim), true), value);
}

}  // namespace

void index(const Tensor& self, TensorList indices, const Tensor& out) {
  look_up("index", Way::read, lookup_several(self, indices), out);
}

void index_put(const Tensor& self, TensorList indices, const Tensor& values, bool accumulate) {
  check_apart(self, {&values});
  look_up("index_put", accumulate ? Way::add : Way::write, lookup_several(self, indices), values);
}

void gather(const Tensor& self, int64_t dim, const Tensor& index, bool, const Tensor& out) {
  if (index.numel() == 0) return;
  check_apart(out, {&self, &index});
  look_up("gather", Way::read, lookup_along(self, dim, with_a_dim(as_index(index))), with_a_dim(out));
}

void scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, const Tensor& out) {
  start_from(self, out, {&index, &src});
  scatter_into("scatter", out, dim, index, src, Way::write);
}
void scatter_value(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                   const Tensor& out) {
  start_from(self, out, {&index});
  scatter_into("scatter", out, dim, index, value, Way::write);
}
void scatter_with(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                  std::string_view reduce, const Tensor& out) {
  start_from(self, out, {&index, &src});
  scatter_into("scatter", out, dim, index, src, way_of(reduce));
}
void scatter_value_with(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                        std::string_view reduce, const Tensor& out) {
  start_from(self, out, {&index});
  scatter_into("scatter", out, dim, index, value, way_of(reduce));
}
void scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, const Tensor& out) {
  start_from(self, out, {&index, &src});
  scatter_into("scatter_add", out, dim, index, src, Way::add);
}
void scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                    std::string_view reduce, bool include_self, const Tensor& out) {
  start_from(self, out, {&index, &src});
  const Tensor at = with_a_dim(as_index(index));
  reduce_into("scatter_reduce", out, dim, at, covered(src, at), reduce, include_self);
}

void index_select(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& out) {
  check_apart(out, {&self, &index});
  look_up("index_select", Way::read, lookup_along(self, dim, spread(index, out.sizes(), dim)),
          with_a_dim(out));
}
void index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
               const Scalar& alpha, const Tensor& out) {
  start_from(self, out, {&index, &source});
  Tensor from = source;
  if (!alpha.equals(1)) {
    from = new_tensor(source.sizes(), source.dtype(), source.device());
    static Variants variants;
    run_elementwise(functor_of<kernels::mul_op>, variants, "index_add", source.dtype(), from, {source, alpha},
                    nullptr);
  }
  look_up("index_add", Way::add, lookup_along(out, dim, spread(index, source.sizes(), dim)),
          with_a_dim(from));
}
void index_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                const Tensor& out) {
  start_from(self, out, {&index, &source});
  look_up("index_copy", Way::write, lookup_along(out, dim, spread(index, source.sizes(), dim)),
          with_a_dim(source));
}
void index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                const Tensor& out) {
  start_from(self, out, {&index});
  fill_along(out, dim, index, number_on_device(value, out.dtype(), out.device()));
}
void index_fill_tensor(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value,
                       const Tensor& out) {
  start_from(self, out, {&index});
  const Tensor number = new_tensor({}, out.dtype(), out.device());
  gpu().copy(value, number, false);
  fill_along(out, dim, index, number);
}
void index_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                  std::string_view reduce, bool include_self, const Tensor& out) {
  start_from(self, out, {&index, &source});
  reduce_into("index_reduce", out, dim, spread(index, source.sizes(), dim), with_a_dim(source), reduce,
              include_self);
}

void take(const Tensor& self, const Tensor& index, const Tensor& out) {
  check_apart(out, {&self, &index});
  const Tensor table = flat(dense(self)), at = flat(dense(index, DType::int64));
  into_dense(out, [&](const Tensor& result) {
    look_up("take", Way::read, lookup_along(table, 0, at, true), flat(result));
  });
}
void put(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate, const Tensor& out) {
  const Tensor at = flat(dense(index, DType::int64)), from = flat(dense(source));
  into_dense(out, [&](const Tensor& result) {
    start_from(self, result, {&index, &source});
    look_up("put", accumulate ? Way::add : Way::write, lookup_along(flat(result), 0, at, true), from);
  });
}

namespace {

constexpr int64_t kNonzeroChunk = 4096;  // of device/index.h

void run_nonzero(Variants& variants, const NonzeroCall& call, const char* kernel, DType dtype,
                 const Tensor& out) {
  const unsigned blocks = unsigned((call.count + kNonzeroChunk - 1) / kNonzeroChunk);
  run_family(kNonzeros, variants, uint64_t(dtype), "nonzero", out, {blocks}, {256}, call,
             [&] { return join_text(kernel, "<", type_text(dtype), ">"); });
}

// How many come before each block; the last number is how many there are.
Tensor counts_of(NonzeroCall& call, const Tensor& in) {
  check_dtype(kernels::domains::every, in.dtype(), "nonzero");
  call.in = in.data();
  call.count = in.numel();
  const int64_t blocks = (call.count + kNonzeroChunk - 1) / kNonzeroChunk, counts = blocks + 1;
  Tensor made = new_tensor({&counts, 1}, DType::int64, in.device());
  call.counts = static_cast<long long*>(made.data());
  call.limit = blocks;
  static Variants counted, scanned;
  run_nonzero(counted, call, "nonzero_counted", in.dtype(), made);
  run_family(kNonzeros, scanned, 0, "nonzero", made, {1}, {1024}, call, [] { return "counts_scanned"; });
  return made;
}

}  // namespace

void nonzero_count(const Tensor& self, const Tensor& out) {
  if (self.numel() == 0) return void(gpu().fill(out, 0));
  NonzeroCall call{};
  const Tensor in = dense(self), counts = counts_of(call, in);
  gpu().copy_on_device(views::select(counts, 0, call.limit), out);
}

void nonzero_static(const Tensor& self, int64_t size, int64_t fill_value, const Tensor& out) {
  MT_CHECK(out.dtype() == DType::int64,
           "nonzero_static: Expected out tensor to have scalar type Long but got ", info(out.dtype()).name);
  MT_CHECK(self.dim() <= kMaxShapeDims, "nonzero: tensors with more than ", kMaxShapeDims,
           " dimensions are not supported on CUDA; got ", self.dim());
  gpu().fill(out, fill_value);
  if (out.numel() == 0 || self.numel() == 0) return;
  NonzeroCall call{};
  const Tensor in = dense(self), counts = counts_of(call, in);
  call.limit = size;
  call.dims = int(self.dim());
  for (int d = 0; d < call.dims; ++d) call.sizes[d] = self.sizes()[size_t(d)];
  const Tensor made = out.is_contiguous() ? out : dense(out);
  call.out = static_cast<long long*>(made.data());
  static Variants written;
  run_nonzero(written, call, "nonzero_written", in.dtype(), made);
  if (!made.same(out)) gpu().copy_on_device(made, out);
}

void repeat_runs(const Tensor& repeats, int64_t, const Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor counts = dense(repeats, DType::int64);
  const Tensor ends = new_tensor(counts.sizes(), DType::int64, counts.device());
  RunningCall sums{};
  sums.in = counts.data();
  sums.out = ends.data();
  sums.outer = sums.inner = 1;
  sums.length = sums.part = counts.numel();
  static Variants summed;
  run_family(kRunningSums, summed, 0, "repeat_interleave", ends, {1}, {256}, sums,
             [] { return "running_rows<int64_t, int64_t, RunningSum<int64_t>, false>"; });
  const Tensor made = out.is_contiguous() && out.dtype() == DType::int64
                          ? out
                          : new_tensor(out.sizes(), DType::int64, out.device());
  RunsCall call{};
  call.ends = static_cast<const long long*>(ends.data());
  call.out = static_cast<long long*>(made.data());
  call.runs = counts.numel();
  call.count = made.numel();
  static Variants found;
  run_over(kRuns, found, 0, "repeat_interleave", made, call.count, call, [] { return "runs_found"; });
  if (!made.same(out)) gpu().copy_on_device(made, out);
}

void where(const Tensor& condition, const Tensor& self, const Tensor& other, const Tensor& out) {
  static Variants variants;
  run_elementwise(kWhere, variants, "where", out.dtype(), out, {condition, self, other}, nullptr);
}

}  // namespace mt::cuda
