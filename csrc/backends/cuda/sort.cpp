// Rows along the last dimension, dense; results go back to the dimension that was asked for.
#include "generated/cuda/sort.h"

#include <algorithm>
#include <limits>

#include "backends/cuda/dense.h"
#include "backends/cuda/library_call.h"
#include "backends/cuda/program.h"
#include "core/views.h"

namespace mt::cuda {
namespace {

constexpr Family kSorts{"sort.h", "SortCall"}, kSearches{"sort.h", "SearchCall"},
    kExtremes{"cumulative.h", "RunningCall"};
constexpr int64_t kSortTile = 2048;   // of device/sort.h
constexpr int64_t kMostRows = 65535;  // of a launch whose grid has them as its second dimension

// A tensor with the dimension last.
Tensor dim_last(const Tensor& tensor, int64_t dim) {
  return dim == tensor.dim() - 1 ? tensor : views::transpose(tensor, dim, tensor.dim() - 1);
}

// Operands of what works along a dimension: without dimensions they get one, results that lost theirs get it back.
struct Rows {
  Tensor in, values, indices;  // the dimension is the last; `in` is dense
  int64_t length, rows;
  Rows(const Tensor& self, int64_t dim, const Tensor& wanted_values, const Tensor& wanted_indices) {
    const Tensor own = with_a_dim(self);
    const int64_t d = wrap_dim(dim, own.dim());
    const auto shaped = [&](const Tensor& t) {
      return dim_last(t.dim() == own.dim() ? t : views::unsqueeze(t, d), d);
    };
    in = dense(dim_last(own, d));
    values = shaped(wanted_values);
    indices = shaped(wanted_indices);
    length = in.size(-1);
    rows = length ? in.numel() / length : 0;
  }
};

// How many of a row are sorted, if the first so many are wanted: a block finds those of a row, which pays unless there are few
// rows and they are long.
int64_t chosen_of(const Rows& r, int64_t wanted) {
  constexpr int64_t kLong = 1 << 19, kMany = 16;
  return r.length > kSortTile && wanted <= kSortTile && (r.length <= kLong || r.rows >= kMany) ? wanted
                                                                                               : r.length;
}

// Keys and order of the rows, or of the first `chosen` of each, sorted. `call` is ready for kernels that take from it.
class Sorted {
 public:
  Sorted(const char* name, const Tensor& in, int64_t rows, int64_t length, bool descending, int64_t chosen)
      : place_(in),
        width_(in.itemsize()),
        tiles_((chosen + kSortTile - 1) / kSortTile),
        in_tiles_(chosen > kSortTile),
        keys_(place_, size_t(rows * chosen) * width_ * (in_tiles_ ? 2 : 1)),
        order_(place_, size_t(rows * chosen) * sizeof(unsigned) * (in_tiles_ ? 2 : 1)),
        counts_(place_, in_tiles_ ? size_t(rows * 16 * tiles_) * sizeof(unsigned) : 0) {
    MT_CHECK(length < std::numeric_limits<int32_t>::max(), name, ": rows of ", length,
             " elements are too long for CUDA; at most 2^31 - 2 are possible");
    call.in = in.data();
    call.keys = keys_.address();
    call.order = static_cast<unsigned*>(order_.address());
    call.rows = rows;
    call.length = chosen;
    call.source = length;
    const uint64_t key = uint64_t(in.dtype()) << 1 | uint64_t(descending);
    const auto typed = [&](const char* kernel) {
      return join_text(kernel, "<", type_text(in.dtype()), ", ", descending ? "true>" : "false>");
    };
    static Variants made, picked;
    if (chosen == length)
      run_over(kSorts, made, key, name, in, rows * length, call, [&] { return typed("keys_made"); });
    else
      run_family(kSorts, picked, key, name, in, {blocks_of_rows()}, {1024}, call,
                 [&] { return typed("rows_chosen"); });
    if (in_tiles_) sort_tiles(name);
    else sort_rows(name);
  }

  SortCall call{};

 private:
  enum Entry { kRows, kCounted, kScanned, kMoved };
  const Loaded& kernels() {
    static Variants variants;
    return find_program(variants, width_, place_, "sort.h", 4, [&]() -> std::vector<FamilyKernel> {
      const std::string key = unit_text(width_);
      return {{"rows_sorted<" + key + ">", "SortCall", 1024},
              {"digits_counted<" + key + ">", "SortCall"},
              {"digits_scanned", "SortCall"},
              {"digits_moved<" + key + ">", "SortCall"}};
    });
  }
  unsigned blocks_of_rows() const {
    return unsigned(std::min<int64_t>(call.rows, std::numeric_limits<int32_t>::max()));
  }
  void sort_rows(const char* name) {
    launch_with(kernels().entries[kRows], name, place_.index(), {blocks_of_rows()}, {1024}, 0, call);
  }
  void sort_tiles(const char* name) {
    for (int64_t first = 0; first < call.rows; first += kMostRows) {
      const int64_t rows = std::min<int64_t>(kMostRows, call.rows - first), before = first * call.length,
                    all = call.rows * call.length;
      SortCall part = call;
      part.rows = rows;
      part.keys = static_cast<char*>(keys_.address()) + size_t(before) * width_;
      part.other_keys = static_cast<char*>(part.keys) + size_t(all) * width_;
      part.order = static_cast<unsigned*>(order_.address()) + before;
      part.other_order = part.order + all;
      part.counts = static_cast<unsigned*>(counts_.address());
      part.tiles = int(tiles_);
      const Shape tiles{unsigned(tiles_), unsigned(rows)};
      // An even number of turns: the sorted rows are where they began.
      for (part.shift = 0; part.shift < int(width_) * 8; part.shift += 4) {
        launch_with(kernels().entries[kCounted], name, place_.index(), tiles, {256}, 0, part);
        launch_with(kernels().entries[kScanned], name, place_.index(), {unsigned(rows)}, {256}, 0, part);
        launch_with(kernels().entries[kMoved], name, place_.index(), tiles, {256}, 0, part);
        std::swap(part.keys, part.other_keys);
        std::swap(part.order, part.other_order);
      }
    }
  }

  Place place_;
  size_t width_;
  int64_t tiles_;
  bool in_tiles_;
  Scratch keys_, order_, counts_;
};

// Writes what `take` makes of dense values and indices to where they are wanted.
template <class F>
void write_both(const Tensor& values, const Tensor& indices, F&& take) {
  into_dense(values, [&](const Tensor& v) { into_dense(indices, [&](const Tensor& i) { take(v, i); }); });
}

// `taken` elements of each sorted row from `first` on.
void take_sorted(const char* name, const Rows& r, bool descending, int64_t first, int64_t taken) {
  if (r.rows == 0 || taken == 0) return;
  Sorted sorted(name, r.in, r.rows, r.length, descending, chosen_of(r, first + taken));
  write_both(r.values, r.indices, [&](const Tensor& values, const Tensor& indices) {
    SortCall call = sorted.call;
    call.values = values.data();
    call.indices = static_cast<long long*>(indices.data());
    call.first = first;
    call.taken = taken;
    static Variants variants;
    run_over(kSorts, variants, uint64_t(r.in.dtype()), name, values, r.rows * taken, call,
             [&] { return join_text("sorted_taken<", type_text(r.in.dtype()), ">"); });
  });
}

void take_median(const char* name, const Tensor& in, int64_t rows, int64_t length, bool ignores_nan,
                 const Tensor& values, long long* indices) {
  Sorted sorted(name, in, rows, length, false, length);
  SortCall call = sorted.call;
  call.values = values.data();
  call.indices = indices;
  static Variants variants;
  run_over(kSorts, variants, uint64_t(in.dtype()) << 1 | uint64_t(ignores_nan), name, values, rows, call,
           [&] {
             return join_text("median_taken<", type_text(in.dtype()), ", ", ignores_nan ? "true>" : "false>");
           });
}

void median_along(const char* name, const Tensor& self, int64_t dim, bool ignores_nan, const Tensor& values,
                  const Tensor& indices) {
  check_dtype(kernels::domains::real, self.dtype(), name);
  const Rows r(self, dim, values, indices);
  if (r.rows == 0) return;
  write_both(r.values, r.indices, [&](const Tensor& v, const Tensor& i) {
    take_median(name, r.in, r.rows, r.length, ignores_nan, v, static_cast<long long*>(i.data()));
  });
}

void median_of_all(const char* name, const Tensor& self, bool ignores_nan, const Tensor& out) {
  check_dtype(kernels::domains::real, self.dtype(), name);
  if (self.numel() == 0) {
    const Scalar nothing = is_floating(self.dtype()) ? Scalar(std::numeric_limits<double>::quiet_NaN())
                                                     : Scalar(std::numeric_limits<int64_t>::min());
    return void(gpu().fill(out, nothing));
  }
  take_median(name, dense(self), 1, self.numel(), ignores_nan, out, nullptr);
}

void running_extreme(const char* name, bool largest, const Tensor& self, int64_t dim, const Tensor& values,
                     const Tensor& indices) {
  check_dtype(kernels::domains::ordered, self.dtype(), name);
  if (self.numel() == 0) return;
  const Tensor in = dense(with_a_dim(self));
  const Along lines(in, dim);
  write_both(values, indices, [&](const Tensor& v, const Tensor& i) {
    RunningCall call{};
    call.in = in.data();
    call.out = v.data();
    call.places = static_cast<long long*>(i.data());
    call.outer = lines.outer;
    call.length = call.part = lines.length;
    call.inner = lines.inner;
    const bool by_rows = lines.inner == 1;
    const Shape grid = by_rows ? Shape{unsigned(lines.outer)} : Shape{blocks_for(lines.outer * lines.inner)};
    static Variants variants;
    run_family(kExtremes, variants, uint64_t(in.dtype()) << 2 | uint64_t(largest) << 1 | uint64_t(by_rows),
               name, v, grid, {256}, call, [&] {
                 const char* type = type_text(in.dtype());
                 return join_text(by_rows ? "running_rows<" : "running_columns<", type, ", ", type,
                                  ", RunningExtreme<compute_t<", type, ">, ", largest ? "true" : "false",
                                  ">, false>");
               });
  });
}

}  // namespace

void sort(const Tensor& self, int64_t dim, bool descending, const Tensor& values, const Tensor& indices) {
  check_dtype(kernels::domains::every_ordered, self.dtype(), "sort");
  const Rows r(self, dim, values, indices);
  take_sorted("sort", r, descending, 0, r.length);
}
void sort_stable(const Tensor& self, std::optional<bool>, int64_t dim, bool descending, const Tensor& values,
                 const Tensor& indices) {
  sort(self, dim, descending, values, indices);
}
void topk(const Tensor& self, int64_t k, int64_t dim, bool largest, bool, const Tensor& values,
          const Tensor& indices) {
  check_dtype(kernels::domains::every_ordered, self.dtype(), "topk");
  if (k == 0) return;
  take_sorted("topk", Rows(self, dim, values, indices), largest, 0, k);
}
void kthvalue(const Tensor& self, int64_t k, int64_t dim, bool, const Tensor& values, const Tensor& indices) {
  check_dtype(kernels::domains::real, self.dtype(), "kthvalue");
  take_sorted("kthvalue", Rows(self, dim, values, indices), false, k - 1, 1);
}

void median_dim(const Tensor& self, int64_t dim, bool, const Tensor& values, const Tensor& indices) {
  median_along("median", self, dim, false, values, indices);
}
void nanmedian_dim(const Tensor& self, int64_t dim, bool, const Tensor& values, const Tensor& indices) {
  median_along("nanmedian", self, dim, true, values, indices);
}
void median(const Tensor& self, const Tensor& out) { median_of_all("median", self, false, out); }
void nanmedian(const Tensor& self, const Tensor& out) { median_of_all("nanmedian", self, true, out); }

void mode(const Tensor& self, int64_t dim, bool, const Tensor& values, const Tensor& indices) {
  check_dtype(kernels::domains::every_ordered, self.dtype(), "mode");
  const Rows r(self, dim, values, indices);
  if (r.rows == 0) return;
  Sorted sorted("mode", r.in, r.rows, r.length, false, r.length);
  write_both(r.values, r.indices, [&](const Tensor& v, const Tensor& i) {
    SortCall call = sorted.call;
    call.values = v.data();
    call.indices = static_cast<long long*>(i.data());
    static Variants variants;
    run_over(kSorts, variants, uint64_t(r.in.dtype()), "mode", v, r.rows, call,
             [&] { return join_text("mode_found<", type_text(r.in.dtype()), ">"); });
  });
}

void cummax(const Tensor& self, int64_t dim, const Tensor& values, const Tensor& indices) {
  running_extreme("cummax", true, self, dim, values, indices);
}
void cummin(const Tensor& self, int64_t dim, const Tensor& values, const Tensor& indices) {
  running_extreme("cummin", false, self, dim, values, indices);
}

void search_sorted(const Tensor& boundaries, const Tensor& values, const Tensor& sorter, bool right, bool,
                   const Tensor& out) {
  check_dtype(kernels::domains::real, values.dtype(), "searchsorted");
  if (values.numel() == 0) return;
  const Tensor bounds = dense(boundaries, values.dtype()), wanted = dense(values);
  const Tensor order = sorter.defined() ? dense(sorter, DType::int64) : Tensor();
  into_dense(out, [&](const Tensor& result) {
    SearchCall call{};
    call.boundaries = bounds.data();
    call.values = wanted.data();
    call.sorter = order.defined() ? static_cast<const long long*>(order.data()) : nullptr;
    call.out = result.data();
    call.length = bounds.dim() ? bounds.size(-1) : 1;
    call.shared = bounds.dim() <= 1;
    call.each = call.shared || wanted.dim() == 0 ? wanted.numel() : wanted.size(-1);
    call.rows = wanted.numel() / call.each;
    call.right = right;
    static Variants variants;
    run_over(kSearches, variants, uint64_t(values.dtype()) << 8 | uint64_t(out.dtype()), "searchsorted",
             result, wanted.numel(), call, [&] {
               return join_text("searched<", type_text(values.dtype()), ", ", type_text(out.dtype()), ">");
             });
  });
}

}  // namespace mt::cuda
