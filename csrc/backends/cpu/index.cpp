// Operands brought into the shape the loops of kernels/indexed.h walk.
#include "generated/cpu/index.h"

#include "backends/cpu/kernel_view.h"
#include "core/views.h"
#include "infer/indexing.h"
#include "infer/infer.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/functors.h"
#include "kernels/index/indexed_reduce.h"

namespace mt::cpu {
namespace {

using kernels::Combine;
using kernels::Lookup;

Tensor flat(const Tensor& t) {
  const int64_t size = t.numel(), one = 1;
  return views::window(t, {&size, 1}, {&one, 1}, t.offset());
}

// What is read through indices must not change under the loop's hands.
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
  if (!out.same(self)) kernels::copy(view(self), view(out));
}

[[noreturn]] void refuse_index(int64_t i, const Lookup& l) {
  if (l.size == 0) fail(ErrorKind::index, "index is out of bounds for dimension with size 0");
  fail(ErrorKind::index, "index ", i, " is out of bounds for dimension ", l.dim, " with size ", l.size);
}
[[noreturn]] void refuse_scatter(int64_t i, const Lookup& l) {
  fail(ErrorKind::runtime, "index ", i, " is out of bounds for dimension ", l.dim, " with size ", l.size);
}
[[noreturn]] void refuse_select(int64_t i, const Lookup& l) {
  if (l.dim == 0) fail(ErrorKind::index, "index out of range in self");
  fail(ErrorKind::runtime, "INDICES element is out of DATA bounds, id=", i, " axis_dim=", l.size);
}
[[noreturn]] void refuse_copy(int64_t i, const Lookup& l) {
  fail(ErrorKind::index, "index_copy_(): index ", i, " is out of bounds for dimension ", l.dim, " with size ",
       l.size);
}
[[noreturn]] void refuse_reduce(int64_t, const Lookup&) {
  fail(ErrorKind::index, "index out of range in self");
}
[[noreturn]] void refuse_take(int64_t i, const Lookup& l) {
  fail(ErrorKind::index, "out of range: tried to access index ", i, " on a tensor of ", l.size, " elements.");
}

// In a dimension without elements nothing can be looked up, and what stands for the table would lie outside its memory.
void refuse_without_elements(const Tensor& index, const Lookup& l) {
  if (l.size == 0 && index.numel() > 0) l.refuse(*static_cast<const int64_t*>(memory(index)), l);
}

// A tensor looked up along one dimension by an index of the shape of the other operand.
struct Along {
  Tensor index, table;
  Lookup lookup;

  Along(const Tensor& self, int64_t dim, Tensor at, void (*refuse)(int64_t, const Lookup&),
        bool wraps = false)
      : index(std::move(at)) {
    const Tensor own = at_least_1d(self);
    const size_t d = size_t(wrap_dim(dim, own.dim()));
    Dims strides(own.strides());
    strides[d] = 0;
    table = views::window(own, index.sizes(), strides, own.offset());
    lookup = {view(index), own.sizes()[d], own.strides()[d] * int64_t(own.itemsize()), wraps, int(d), refuse};
    refuse_without_elements(index, lookup);
  }
};

// The 1-dim index of index_select and its kin, seen in the shape of `other`.
Tensor spread(const Tensor& index, const Tensor& other, int64_t dim) {
  const Tensor at = at_least_1d(as_long(index));
  const Dims sizes = infer::at_least_1d(other.sizes());
  Dims strides(sizes.size(), 0);
  strides[size_t(wrap_dim(dim, int64_t(sizes.size())))] = at.strides()[0];
  return views::window(at, sizes, strides, at.offset());
}

// The part of src that the index covers.
Tensor covered(const Tensor& src, const Tensor& index) {
  const Tensor from = at_least_1d(src);
  return views::window(from, index.sizes(), from.strides(), from.offset());
}

void scatter_into(const Tensor& out, int64_t dim, const Tensor& index, const kernels::View& src,
                  Combine combine) {
  if (index.numel() == 0) return;
  const Along along(out, dim, at_least_1d(as_long(index)), refuse_scatter);
  kernels::scatter(view(along.table), along.lookup, src, combine);
}

void scatter_into(const Tensor& out, int64_t dim, const Tensor& index, const Tensor& src, Combine combine) {
  if (index.numel() == 0) return;
  const Tensor from = covered(src, at_least_1d(index));
  scatter_into(out, dim, index, view(from), combine);
}

Combine combine_of(std::string_view reduce) {
  return reduce == "multiply" ? Combine::multiply : Combine::add;
}

// `along` places `src` into `out`, which holds the old values.
void reduce_into(const Tensor& out, const Along& along, const kernels::View& src, std::string_view reduce,
                 bool include_self) {
  kernels::scatter_reduce(view_along(out), view(along.table), along.lookup, src, kernels::meeting_of(reduce),
                          include_self);
}

// The offsets of several index tensors together, in bytes; one of them alone needs no table.
struct Several {
  Tensor index, table;
  Lookup lookup;

  Several(const Tensor& self, TensorList indices) {
    const infer::Indexing plan = infer::indexing(self, indices);
    table = views::window(self, plan.sizes, plan.table_strides, self.offset());
    const int64_t item = int64_t(self.itemsize());
    int position = 0;
    auto lookup_of = [&](size_t d, const Tensor& at) {
      return Lookup{view(at), self.sizes()[d], self.strides()[d] * item, true, position++, refuse_index};
    };
    if (plan.dims.size() == 1) {
      const Tensor at = as_long(indices[size_t(plan.dims[0])]);
      index = in_result(at, plan);
      lookup = lookup_of(size_t(plan.dims[0]), index);
      refuse_without_elements(index, lookup);
      return;
    }
    const Tensor offsets = new_tensor(plan.index_sizes, DType::int64, self.device());
    kernels::fill(view(offsets), 0);
    for (int64_t d : plan.dims) {
      const Tensor at = as_long(indices[size_t(d)]);
      kernels::add_offsets(view(offsets), lookup_of(size_t(d), at));
    }
    index = in_result(offsets, plan);
    lookup = {view(index), std::numeric_limits<int64_t>::max(), 1, false, 0, refuse_index};
  }

  // Broadcast to the result: the other dimensions have stride 0.
  static Tensor in_result(const Tensor& at, const infer::Indexing& plan) {
    const Tensor whole = views::expand(at, plan.index_sizes, false);
    Dims strides(plan.sizes.size(), 0);
    for (size_t i = 0; i < plan.index_sizes.size(); ++i) strides[plan.first + i] = whole.strides()[i];
    return views::window(whole, plan.sizes, strides, whole.offset());
  }
};

}  // namespace

void index(const Tensor& self, TensorList indices, const Tensor& out) {
  const Several several(self, indices);
  kernels::gather(view(out), view(several.table), several.lookup);
}

void index_put(const Tensor& self, TensorList indices, const Tensor& values, bool accumulate) {
  check_apart(self, {&values});
  const Several several(self, indices);
  kernels::scatter(view(several.table), several.lookup, view(values),
                   accumulate ? Combine::add : Combine::write);
}

void gather(const Tensor& self, int64_t dim, const Tensor& index, bool, const Tensor& out) {
  if (index.numel() == 0) return;
  check_apart(out, {&self, &index});
  const Along along(self, dim, at_least_1d(as_long(index)), refuse_scatter);
  kernels::gather(view_along(out), view(along.table), along.lookup);
}

void scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, const Tensor& out) {
  start_from(self, out, {&index, &src});
  scatter_into(out, dim, index, src, Combine::write);
}
void scatter_value(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                   const Tensor& out) {
  start_from(self, out, {&index});
  scatter_into(out, dim, index, NumberView(value, out.dtype()).view, Combine::write);
}
void scatter_with(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                  std::string_view reduce, const Tensor& out) {
  start_from(self, out, {&index, &src});
  scatter_into(out, dim, index, src, combine_of(reduce));
}
void scatter_value_with(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                        std::string_view reduce, const Tensor& out) {
  start_from(self, out, {&index});
  scatter_into(out, dim, index, NumberView(value, out.dtype()).view, combine_of(reduce));
}
void scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, const Tensor& out) {
  start_from(self, out, {&index, &src});
  scatter_into(out, dim, index, src, Combine::add);
}
void scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                    std::string_view reduce, bool include_self, const Tensor& out) {
  start_from(self, out, {&index, &src});
  if (index.numel() == 0) return;
  const Along along(out, dim, at_least_1d(as_long(index)), refuse_scatter);
  reduce_into(out, along, view(covered(src, along.index)), reduce, include_self);
}

void index_select(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& out) {
  check_apart(out, {&self, &index});
  const Along along(self, dim, spread(index, out, dim), refuse_select);
  if (out.numel() == 0) {  // no element would look them up
    const Tensor at = at_least_1d(as_long(index));
    for (int64_t i = 0; i < at.numel(); ++i) {
      const int64_t wanted = at.data<int64_t>()[i * at.strides()[0]];
      if (wanted < 0 || wanted >= along.lookup.size) refuse_select(wanted, along.lookup);
    }
  }
  kernels::gather(view_along(out), view(along.table), along.lookup);
}
void index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
               const Scalar& alpha, const Tensor& out) {
  start_from(self, out, {&index, &source});
  Tensor from = source;
  if (!alpha.equals(1)) {
    from = new_tensor(source.sizes(), source.dtype(), source.device());
    kernels::binary<kernels::mul_op>(view(source), NumberView(alpha, source.dtype()).view, view(from),
                                     source.dtype());
  }
  const Along along(out, dim, spread(index, source, dim), refuse_scatter);
  kernels::scatter(view(along.table), along.lookup, view(from), Combine::add);
}
void index_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                const Tensor& out) {
  start_from(self, out, {&index, &source});
  const Along along(out, dim, spread(index, source, dim), refuse_copy);
  kernels::scatter(view(along.table), along.lookup, view(source), Combine::write);
}

namespace {

void fill_along(const Tensor& out, int64_t dim, const Tensor& index, const kernels::View& value) {
  const Tensor own = at_least_1d(out);
  Dims sizes(own.sizes());
  sizes[size_t(wrap_dim(dim, own.dim()))] = index.numel();
  const Tensor shape = views::window(own, sizes, Dims(sizes.size(), 0), own.offset());
  const Along along(own, dim, spread(index, shape, dim), refuse_index, true);
  kernels::scatter(view(along.table), along.lookup, value, Combine::write);
}

}  // namespace

void index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                const Tensor& out) {
  start_from(self, out, {&index});
  fill_along(out, dim, index, NumberView(value, out.dtype()).view);
}
void index_fill_tensor(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value,
                       const Tensor& out) {
  index_fill(self, dim, index, item(value), out);
}
void index_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                  std::string_view reduce, bool include_self, const Tensor& out) {
  start_from(self, out, {&index, &source});
  const Along along(out, dim, spread(index, source, dim), refuse_reduce);
  reduce_into(out, along, view(source), reduce, include_self);
}

void take(const Tensor& self, const Tensor& index, const Tensor& out) {
  check_apart(out, {&self, &index});
  const Tensor table = flat(dense(self)), at = flat(dense(index));
  const Along along(table, 0, at, refuse_take, true);
  const Tensor result = out.is_contiguous() ? out : new_tensor(out.sizes(), out.dtype(), out.device());
  kernels::gather(view(flat(result)), view(along.table), along.lookup);
  if (!result.same(out)) kernels::copy(view(result), view(out));
}
void put(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate, const Tensor& out) {
  const Tensor result = out.is_contiguous() ? out : new_tensor(out.sizes(), out.dtype(), out.device());
  start_from(self, result, {&index, &source});
  const Tensor table = flat(result), at = flat(dense(index)), from = flat(dense(source));
  const Along along(table, 0, at, refuse_take, true);
  kernels::scatter(view(along.table), along.lookup, view(from), accumulate ? Combine::add : Combine::write);
  if (!result.same(out)) kernels::copy(view(result), view(out));
}

void nonzero_count(const Tensor& self, const Tensor& out) {
  *out.data<int64_t>() = kernels::count_nonzero(view(dense(self)));
}
void nonzero_static(const Tensor& self, int64_t size, int64_t fill_value, const Tensor& out) {
  const int64_t found = kernels::nonzero(view(dense(self)), view(out));
  if (found < size) kernels::fill(view(views::slice(out, 0, found, size, 1)), fill_value);
}
void repeat_runs(const Tensor& repeats, int64_t, const Tensor& out) {
  kernels::repeat_runs(view(repeats), view(out));
}

void where(const Tensor& condition, const Tensor& self, const Tensor& other, const Tensor& out) {
  kernels::where(view(condition), view(self), view(other), view(out));
}

}  // namespace mt::cpu
