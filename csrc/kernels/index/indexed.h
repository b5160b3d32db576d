// Reading and writing through indices: one pair of loops behind gather, scatter, index, index_put, index_add, take,
// embedding and their kin.
//
// The indexed tensor (`table`) is seen in the shape of the other operand, with stride 0 along the dimensions that the
// indices replace; the index, broadcast to the same shape, says how far to go from there.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

struct Lookup {
  View index;      // int64, broadcast to the shape of the result (gather) or of the table (scatter)
  int64_t size;    // indices lie in [0, size), or in [-size, size) if they wrap
  int64_t stride;  // bytes from one to the next
  bool wraps;      // negative indices count from the end
  int dim;         // for messages
  void (*refuse)(int64_t index, const Lookup& lookup);  // throws; the wording differs between operators

  int64_t at(int64_t i) const {
    const int64_t wrapped = wraps && i < 0 ? i + size : i;
    if (wrapped < 0 || wrapped >= size) [[unlikely]]
      refuse(i, *this);
    return wrapped * stride;
  }
};

enum class Combine : uint8_t { write, add, multiply, min, max };

// out = table at the index. Same dtype.
void gather(const View& out, const View& table, const Lookup& lookup);
// table at the index = itself combined with source, which broadcasts to the table's shape. In the same order for any
// number of threads, so that sums do not change from run to run.
void scatter(const View& table, const Lookup& lookup, const View& source, Combine combine);
// offsets += where the lookup leads, in bytes.
void add_offsets(const View& offsets, const Lookup& lookup);

// Coordinates of the elements of a dense tensor that are not zero, in row-major order: row i of out (int64, [count, ndim]) belongs to
// the i-th of them. Writes at most out.sizes[0] rows and gives the number found.
int64_t count_nonzero(const View& in);
int64_t nonzero(const View& in, const View& out);

// out[i] = j for the j whose run of repeats[j] covers i. The repeats add up to the length of out.
void repeat_runs(const View& repeats, const View& out);

}  // namespace mt::kernels
