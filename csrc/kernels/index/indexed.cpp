#include "kernels/index/indexed.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/common/arithmetic.h"
#include "kernels/common/iterate.h"
#include "kernels/common/levels.h"
#include "kernels/common/parallel.h"
#include "kernels/common/thread_buffer.h"
#include "kernels/common/types.h"

namespace mt::kernels {
namespace {

// Random access costs more than arithmetic: threads start earlier.
constexpr int64_t kLookupGrain = kGrain / 4;

int64_t index_at(const char* data) { return *reinterpret_cast<const int64_t*>(data); }

// A lookup for loops: its numbers are locals, which no write through a pointer can change.
class Places {
 public:
  explicit Places(const Lookup& lookup)
      : lookup_(lookup), size_(lookup.size), stride_(lookup.stride), added_(lookup.wraps ? lookup.size : 0) {}
  [[gnu::always_inline]] int64_t at(int64_t i) const {
    const int64_t wrapped = i + ((i >> 63) & added_);
    if (uint64_t(wrapped) >= uint64_t(size_)) [[unlikely]]
      lookup_.refuse(i, lookup_);
    return wrapped * stride_;
  }

 private:
  const Lookup& lookup_;
  const int64_t size_, stride_, added_;
};

// Whether one of n indices is outside, and whether one is negative, in vectors.
struct FindOutside {
  [[gnu::always_inline]] static inline void run(const int64_t* index, int64_t n, int64_t size, int64_t added,
                                                bool* found, bool* negative) {
    uint64_t outside = 0, signs = 0;
    for (int64_t i = 0; i < n; ++i) {
      outside |= uint64_t(uint64_t(index[i] + ((index[i] >> 63) & added)) >= uint64_t(size));
      signs |= uint64_t(index[i]);
    }
    *found = outside != 0, *negative = signs >> 63;
  }
};

// Elements of a table, dense, by indices that are looked at before, many at a time.
template <class U>
void gather_dense(U* out, const char* table, int64_t step, const int64_t* index, int64_t n,
                  const Lookup& lookup) {
  constexpr int64_t together = 512, item = sizeof(U);
  const int64_t size = lookup.size, stride = lookup.stride, added = lookup.wraps ? size : 0;
  for (int64_t begin = 0; begin < n; begin += together) {
    const int64_t end = std::min(n, begin + together);
    bool outside, negative;
    at_level<FindOutside, const int64_t*, int64_t, int64_t, int64_t, bool*, bool*>(
        index + begin, end - begin, size, added, &outside, &negative);
    if (outside) [[unlikely]]
      for (int64_t i = begin; i < end; ++i) lookup.at(index[i]);
    if (step == 0 && stride == item && !negative) {
      for (int64_t i = begin; i < end; ++i) out[i] = reinterpret_cast<const U*>(table)[index[i]];
    } else {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t place = index[i] + ((index[i] >> 63) & added);
        out[i] = *reinterpret_cast<const U*>(table + i * step + place * stride);
      }
    }
  }
}

// Operands: out, table, index.
template <class U>
void gather_row(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const Lookup& lookup = *static_cast<const Lookup*>(context);
  char* out = data[0];
  if (strides[2] == 0) {  // one index for the whole row
    const char* from = data[1] + lookup.at(index_at(data[2]));
    if (strides[0] == int64_t(sizeof(U)) && strides[1] == int64_t(sizeof(U))) {
      std::memcpy(out, from, size_t(n) * sizeof(U));
      return;
    }
    for (int64_t i = 0; i < n; ++i)
      *reinterpret_cast<U*>(out + i * strides[0]) = *reinterpret_cast<const U*>(from + i * strides[1]);
    return;
  }
  const char *table = data[1], *index = data[2];
  const int64_t out_step = strides[0], step = strides[1], index_step = strides[2];
  if (out_step == int64_t(sizeof(U)) && index_step == int64_t(sizeof(int64_t)))
    return gather_dense(reinterpret_cast<U*>(out), table, step, reinterpret_cast<const int64_t*>(index), n,
                        lookup);
  const Places places(lookup);
  for (int64_t i = 0; i < n; ++i)
    *reinterpret_cast<U*>(out + i * out_step) =
        *reinterpret_cast<const U*>(table + i * step + places.at(index_at(index + i * index_step)));
}

struct Write {
  template <class T>
  [[gnu::always_inline]] static inline T join(T, T value) {
    return value;
  }
};
struct Add {
  template <class T>
  [[gnu::always_inline]] static inline T join(T a, T b) {
    if constexpr (std::is_same_v<T, bool>) return a || b;
    else return T(math::add(compute_t<T>(a), compute_t<T>(b)));
  }
};
struct Multiply {
  template <class T>
  [[gnu::always_inline]] static inline T join(T a, T b) {
    if constexpr (std::is_same_v<T, bool>) return a && b;
    else return T(math::mul(compute_t<T>(a), compute_t<T>(b)));
  }
};
// NaN wins, as in every extremum.
template <bool kMax>
struct Extremum {
  template <class T>
  [[gnu::always_inline]] static inline T join(T a, T b) {
    const compute_t<T> x(a), y(b);
    const bool takes = (kMax ? y > x : y < x) | math::is_nan(y);
    // By bits: compilers make vectors of numbers, not of structures, and elsewhere a branch that nobody can foretell.
    using Bits = typename unsigned_of<sizeof(T)>::type;
    const Bits mask = Bits(Bits(0) - Bits(takes));
    return std::bit_cast<T>(Bits((std::bit_cast<Bits>(b) & mask) | (std::bit_cast<Bits>(a) & Bits(~mask))));
  }
};

// A dense row into another.
template <class T, class Op>
struct JoinRows {
  [[gnu::always_inline]] static inline void run(T* target, const T* source, int64_t n) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) target[i] = Op::template join<T>(target[i], source[i]);
  }
};

// The compiler's own type of float16.
#if defined(__aarch64__)
using PlainHalf = __fp16;  // GCC knows _Float16 there only from version 13 on
#else
using PlainHalf = _Float16;
#endif

// Element after element into the places that the index names. float16 is converted by an instruction where there is one
// (`kInstruction`): compilers use it for numbers of their own type.
template <class T, class Op, bool kInstruction>
struct JoinPlaces {
  [[gnu::always_inline]] static inline void join(char* target, const char* source) {
    T &slot = *reinterpret_cast<T*>(target), value = *reinterpret_cast<const T*>(source);
    if constexpr (kInstruction && std::is_same_v<T, Half> && std::is_same_v<Op, Add>) {
      const float sum =
          float(std::bit_cast<PlainHalf>(slot.bits)) + float(std::bit_cast<PlainHalf>(value.bits));
      slot.bits = std::bit_cast<uint16_t>(PlainHalf(sum));
    } else {
      slot = Op::template join<T>(slot, value);
    }
  }
  [[gnu::always_inline]] static inline void run(char* const* data, const int64_t* strides, int64_t n,
                                                const Places* places) {
    char* table = data[0];
    const char *index = data[1], *source = data[2];
    const int64_t step = strides[0], index_step = strides[1], source_step = strides[2];
    if (index_step == int64_t(sizeof(int64_t)) && source_step == int64_t(sizeof(T))) {
      for (int64_t i = 0; i < n; ++i)
        join(table + i * step + places->at(reinterpret_cast<const int64_t*>(index)[i]),
             source + i * int64_t(sizeof(T)));
      return;
    }
    for (int64_t i = 0; i < n; ++i)
      join(table + i * step + places->at(index_at(index + i * index_step)), source + i * source_step);
  }
};

// Operands: table, index, source.
template <class T, class Op>
void scatter_row(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const Lookup& lookup = *static_cast<const Lookup*>(context);
  auto join = [](char* target, const char* source) {
    T& slot = *reinterpret_cast<T*>(target);
    slot = Op::template join<T>(slot, *reinterpret_cast<const T*>(source));
  };
  if (strides[1] == 0) {
    char* target = data[0] + lookup.at(index_at(data[1]));
    constexpr int64_t item = sizeof(T);
    if (strides[0] == item && strides[2] == item)
      return at_level<JoinRows<T, Op>, T*, const T*, int64_t>(reinterpret_cast<T*>(target),
                                                              reinterpret_cast<const T*>(data[2]), n);
    for (int64_t i = 0; i < n; ++i) join(target + i * strides[0], data[2] + i * strides[2]);
    return;
  }
  using Body = JoinPlaces<T, Op, false>;
  using Quick = JoinPlaces<T, Op, true>;
  const Places places(lookup);
  if (!kHasLevels || cpu_level > 0) AtLevels<Quick>::wide(data, strides, n, &places);
  else AtLevels<Body>::base(data, strides, n, &places);
}

// Note [Sorted by block]
// Elements whose places may be anywhere are handed to threads by where they go: the table is cut into blocks, the source
// into chunks. Every chunk counts what it has for each block, then writes it to that block's part of a list, behind
// what chunks before it have; then every block joins its part. Each place sees its elements in the order of
// the source, for any number of threads, and a block stays in the cache of the one that works on it.
struct Blocks {
  const Lookup* lookup;
  const char* table;
  int shift;  // a block has 2^shift bytes
  int64_t block_of(const char* target) const { return (target - table) >> shift; }
};

// One chunk: how many elements it has for each block, then where the next one goes in the list.
struct Chunk {
  const Blocks* blocks;
  int64_t* next;
  void* list;
};

// What a list has of an element, and of a row whose elements follow one index.
template <class T>
struct Sent {
  char* target;
  T value;
};
struct SentRow {
  char* data[3];  // as a row function takes it
};

void count_sent(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const Chunk& chunk = *static_cast<const Chunk*>(context);
  const Blocks blocks = *chunk.blocks;
  const Places places(*blocks.lookup);
  if (strides[1] == 0) {
    ++chunk.next[blocks.block_of(data[0] + places.at(index_at(data[1])))];
    return;
  }
  for (int64_t i = 0; i < n; ++i)
    ++chunk.next[blocks.block_of(data[0] + i * strides[0] + places.at(index_at(data[1] + i * strides[1])))];
}

template <class T>
void send(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const Chunk& chunk = *static_cast<const Chunk*>(context);
  const Blocks blocks = *chunk.blocks;
  const Places places(*blocks.lookup);
  Sent<T>* list = static_cast<Sent<T>*>(chunk.list);
  for (int64_t i = 0; i < n; ++i) {
    char* target = data[0] + i * strides[0] + places.at(index_at(data[1] + i * strides[1]));
    list[chunk.next[blocks.block_of(target)]++] = {target,
                                                   *reinterpret_cast<const T*>(data[2] + i * strides[2])};
  }
}

void send_row(char* const* data, const int64_t*, int64_t, const void* context) {
  const Chunk& chunk = *static_cast<const Chunk*>(context);
  const char* target = data[0] + chunk.blocks->lookup->at(index_at(data[1]));
  static_cast<SentRow*>(chunk.list)[chunk.next[chunk.blocks->block_of(target)]++] = {
      {data[0], data[1], data[2]}};
}

// Joins elements [begin, end) of a list.
template <class T, class Op>
void join_sent(const void* list, int64_t begin, int64_t end) {
  const Sent<T>* sent = static_cast<const Sent<T>*>(list);
  for (int64_t i = begin; i < end; ++i) {
    T& slot = *reinterpret_cast<T*>(sent[i].target);
    slot = Op::template join<T>(slot, sent[i].value);
  }
}

// The loops of one dtype and way to combine.
struct ScatterLoops {
  RowFunction row, send;
  void (*join_sent)(const void* list, int64_t begin, int64_t end);
  size_t sent_size;
};

template <class T, class Op>
constexpr ScatterLoops scatter_loops{scatter_row<T, Op>, send<T>, join_sent<T, Op>, sizeof(Sent<T>)};

RowFunction gather_of(size_t item) {
  switch (item) {
    case 1: return gather_row<uint8_t>;
    case 2: return gather_row<uint16_t>;
    case 4: return gather_row<uint32_t>;
    case 8: return gather_row<uint64_t>;
    default: return gather_row<complex128>;
  }
}

const ScatterLoops& write_of(size_t item) {
  switch (item) {
    case 1: return scatter_loops<uint8_t, Write>;
    case 2: return scatter_loops<uint16_t, Write>;
    case 4: return scatter_loops<uint32_t, Write>;
    case 8: return scatter_loops<uint64_t, Write>;
    default: return scatter_loops<complex128, Write>;
  }
}

const ScatterLoops& scatter_of(DType dtype, Combine combine) {
  const ScatterLoops* loops = nullptr;
  switch (combine) {
    case Combine::write: return write_of(itemsize(dtype));
    case Combine::add:
      dispatch<domains::every>(dtype, "scatter_add",
                               [&](auto tag) { loops = &scatter_loops<typename decltype(tag)::type, Add>; });
      break;
    case Combine::multiply:
      dispatch<domains::every>(dtype, "scatter_multiply", [&](auto tag) {
        loops = &scatter_loops<typename decltype(tag)::type, Multiply>;
      });
      break;
    case Combine::min:
      dispatch<domains::every_ordered>(dtype, "scatter_amin", [&](auto tag) {
        loops = &scatter_loops<typename decltype(tag)::type, Extremum<false>>;
      });
      break;
    case Combine::max:
      dispatch<domains::every_ordered>(dtype, "scatter_amax", [&](auto tag) {
        loops = &scatter_loops<typename decltype(tag)::type, Extremum<true>>;
      });
      break;
  }
  return *loops;
}

// Operands: offsets, index.
void offset_row(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const Lookup& lookup = *static_cast<const Lookup*>(context);
  for (int64_t i = 0; i < n; ++i)
    *reinterpret_cast<int64_t*>(data[0] + i * strides[0]) += lookup.at(index_at(data[1] + i * strides[1]));
}

}  // namespace

void gather(const View& out, const View& table, const Lookup& lookup) {
  const View* operands[] = {&out, &table, &lookup.index};
  Plan plan;
  make_plan(plan, operands, 3);
  if (plan.numel == 0) return;
  for_each_row(plan, kLookupGrain, gather_of(itemsize(out.dtype)), &lookup);
}

namespace {

// Where one of the innermost dimensions leads to places of its own, those that meet lie along the other one.
void scatter_here(const Plan& plan, RowFunction row, const Lookup& lookup) {
  if (plan.ndim > 1 && (plan.strides[0][0] != 0 || plan.strides[0][1] != 0))
    for_each_row_here(plan, row, &lookup);
  else for_each_row_in(plan, 0, plan.numel, row, &lookup);
}

// The dimension that threads share out, because the table moves along it and no two of them write to one place; -1 if
// none gives each of them enough. Of the innermost one a thread gets several cache lines.
constexpr int64_t kInnerBytes = 256;
int free_dimension(const Plan& plan, size_t item, int64_t threads) {
  int best = -1;
  for (int d = 1; d < plan.ndim; ++d)
    if (plan.strides[0][d] != 0 && plan.sizes[d] >= threads && (best < 0 || plan.sizes[d] > plan.sizes[best]))
      best = d;
  if (best < 0 && plan.strides[0][0] != 0 && plan.sizes[0] * int64_t(item) >= threads * kInnerBytes) return 0;
  return best;
}

// Bytes from the table's first element to its last.
int64_t span_of(const Plan& plan, const Lookup& lookup) {
  int64_t span = (lookup.size - 1) * lookup.stride;
  for (int d = 0; d < plan.ndim; ++d) span += (plan.sizes[d] - 1) * plan.strides[0][d];
  return span;
}

// A list costs three looks at each element: where the table stays in a cache, so few threads are no faster than one.
constexpr int64_t kFew = 3, kCached = 256 << 10;

constinit PerThread<ThreadBuffer> sent_memory;

// See Note [Sorted by block].
void scatter_by_block(const Plan& plan, const ScatterLoops& loops, const Lookup& lookup, int64_t threads) {
  constexpr int64_t kTogether = 1 << 20;  // elements in the list at once
  const bool rows = plan.strides[1][0] == 0;
  const int64_t width = rows ? plan.sizes[0] : 1, units = plan.numel / width;
  const int64_t span = span_of(plan, lookup);
  const int64_t wanted = 4 * threads, chunks = 2 * threads;
  const Blocks blocks{&lookup, plan.data[0], std::max(6, int(std::bit_width(uint64_t(span / wanted))))};
  const int64_t count = (span >> blocks.shift) + 1;
  std::vector<int64_t> next(size_t(count * chunks)), ends(size_t(count), 0);
  char* list =
      sent_memory->room<char>(std::min(units, kTogether) * int64_t(rows ? sizeof(SentRow) : loops.sent_size));
  for (int64_t first = 0; first < units; first += kTogether) {
    const int64_t total = std::min(kTogether, units - first), each = (total + chunks - 1) / chunks;
    const auto for_each_chunk = [&](RowFunction row) {
      parallel_for(0, chunks, 1, [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; ++c) {
          const Chunk chunk{&blocks, next.data() + c * count, list};
          for_each_row_in(plan, (first + std::min(total, c * each)) * width,
                          (first + std::min(total, (c + 1) * each)) * width, row, &chunk);
        }
      });
    };
    std::fill(next.begin(), next.end(), 0);
    for_each_chunk(count_sent);
    int64_t at = 0;
    for (int64_t b = 0; b < count; ++b) {
      for (int64_t c = 0; c < chunks; ++c) at += std::exchange(next[size_t(c * count + b)], at);
      ends[size_t(b)] = at;
    }
    for_each_chunk(rows ? send_row : loops.send);
    parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
      const int64_t from = begin == 0 ? 0 : ends[size_t(begin - 1)], to = ends[size_t(end - 1)];
      if (!rows) return loops.join_sent(list, from, to);
      const int64_t strides[] = {plan.strides[0][0], 0, plan.strides[2][0]};
      for (int64_t i = from; i < to; ++i)
        loops.row(reinterpret_cast<const SentRow*>(list)[i].data, strides, width, &lookup);
    });
  }
}

}  // namespace

void scatter(const View& table, const Lookup& lookup, const View& source, Combine combine) {
  const View* operands[] = {&table, &lookup.index, &source};
  Plan plan;
  make_plan(plan, operands, 3);
  if (plan.numel == 0) return;
  const ScatterLoops& loops = scatter_of(table.dtype, combine);
  const int64_t threads = std::min<int64_t>(get_num_threads(), plan.numel / kLookupGrain);
  if (threads <= 1 || in_parallel_region()) return scatter_here(plan, loops.row, lookup);
  // No two threads may write to one place.
  const int shared = free_dimension(plan, itemsize(table.dtype), threads);
  if (shared < 0) {
    if (threads <= kFew && span_of(plan, lookup) <= kCached) return scatter_here(plan, loops.row, lookup);
    return scatter_by_block(plan, loops, lookup, threads);
  }
  const int64_t width = plan.sizes[shared], each = plan.numel / width;
  const int64_t least = shared == 0 ? kInnerBytes / int64_t(itemsize(table.dtype)) : 1;
  parallel_for(0, width, std::max(least, kLookupGrain / each), [&](int64_t begin, int64_t end) {
    Plan part = plan;
    part.sizes[shared] = end - begin;
    part.numel = each * (end - begin);
    for (int o = 0; o < part.operands; ++o) part.data[o] += begin * part.strides[o][shared];
    scatter_here(part, loops.row, lookup);
  });
}

void add_offsets(const View& offsets, const Lookup& lookup) {
  const View* operands[] = {&offsets, &lookup.index};
  Plan plan;
  make_plan(plan, operands, 2);
  if (plan.numel != 0) for_each_row(plan, kLookupGrain, offset_row, &lookup);
}

namespace {

constexpr int64_t kBlock = kGrain / 4;

int64_t blocks_of(int64_t numel) { return (numel + kBlock - 1) / kBlock; }

// Compilers make no vectors of bools, but of bytes.
template <class T>
const T* as_numbers(const T* data) {
  return data;
}
inline const uint8_t* as_numbers(const bool* data) { return reinterpret_cast<const uint8_t*>(data); }

// In short runs, whose counts fit the width of an element.
template <class T>
int64_t count_in(const T* data, int64_t n) {
  constexpr int64_t run = 128;
  using Count =
      std::conditional_t<sizeof(T) == 1, uint8_t, std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>>;
  const auto* numbers = as_numbers(data);
  using N = std::remove_cvref_t<decltype(*numbers)>;
  int64_t total = 0;
  for (int64_t begin = 0; begin < n; begin += run) {
    const int64_t end = std::min(n, begin + run);
    Count count = 0;
    for (int64_t i = begin; i < end; ++i) count = Count(count + Count(numbers[i] != N(0)));
    total += count;
  }
  return total;
}

// Writes the places of the elements of data[0, n) that are not zero to `places`, which has room for all, without branches.
template <class T>
int64_t places_in(const T* data, int64_t n, int32_t* places) {
  const auto* numbers = as_numbers(data);
  using N = std::remove_cvref_t<decltype(*numbers)>;
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    places[count] = int32_t(i);
    count += numbers[i] != N(0);
  }
  return count;
}

// Elements are looked at in runs: rows along one dimension, of a few elements each, which are those of the dimensions
// inside it. In a run only the coordinates of these dimensions change, as in every other one.
constexpr int64_t kRun = 512;
struct Runs {
  int along;
  int64_t width = 1;  // elements of a row
  std::vector<std::array<int32_t, kRun>>
      by;  // coordinates of an element relative to its run's first, from `along` on

  explicit Runs(const View& in) : along(in.ndim - 1) {
    constexpr int64_t wide = 64;
    for (; along > 0 && width * in.sizes[along] <= wide; --along) width *= in.sizes[along];
    by.resize(size_t(in.ndim - along));
    const int64_t longest = std::min(kRun, in.numel());
    int64_t inner = 1;  // elements for which a coordinate stays
    for (int d = in.ndim - 1; d >= along; inner *= in.sizes[d--]) {
      const int64_t end = d > along ? in.sizes[d] : kRun;
      int32_t* coordinates = by[size_t(d - along)].data();
      for (int64_t i = 0, value = 0; i < longest; value = value + 1 < end ? value + 1 : 0)
        for (const int64_t last = std::min(longest, i + inner); i < last; ++i)
          coordinates[i] = int32_t(value);
    }
  }
  // How many elements the run from element i on has.
  int64_t length(int64_t i, const View& in) const {
    const int64_t rows = std::min(kRun / width, in.sizes[along] - i / width % in.sizes[along]);
    return rows * width - i % width;
  }
};

// How many elements of each block are not zero.
template <class T>
std::vector<int64_t> counts_per_block(const T* data, int64_t numel) {
  std::vector<int64_t> counts(size_t(blocks_of(numel)), 0);
  parallel_for(0, int64_t(counts.size()), 4, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t last = std::min(numel, (b + 1) * kBlock);
      counts[size_t(b)] = count_in(data + b * kBlock, last - b * kBlock);
    }
  });
  return counts;
}

}  // namespace

int64_t count_nonzero(const View& in) {
  int64_t total = 0;
  dispatch<domains::every>(in.dtype, "count_nonzero", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t count : counts_per_block(in.as<T>(), in.numel())) total += count;
  });
  return total;
}

int64_t nonzero(const View& in, const View& out) {
  MT_CHECK(out.dtype == DType::int64, "nonzero_static: Expected out tensor to have scalar type Long but got ",
           info(out.dtype).name);
  const int64_t numel = in.numel(), room = out.sizes[0], row = out.strides[0], column = out.strides[1];
  if (in.ndim == 0 || numel == 0) return count_nonzero(in);  // no coordinates
  int64_t total = 0;
  dispatch<domains::every>(in.dtype, "nonzero", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* data = in.as<T>();
    std::vector<int64_t> starts = counts_per_block(data, numel);
    for (int64_t& start : starts) start = std::exchange(total, total + start);
    const Runs runs(in);
    parallel_for(0, int64_t(starts.size()), 4, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const int64_t last = std::min(numel, (b + 1) * kBlock);
        int64_t at = starts[size_t(b)];
        for (int64_t i = b * kBlock; i < last && at < room;) {
          const int64_t run = std::min(runs.length(i, in), last - i), phase = i % runs.width;
          int32_t places[kRun];
          const int64_t count = std::min(places_in(data + i, run, places), room - at);
          int64_t* target = out.as<int64_t>() + at * row;
          int64_t rest = i / runs.width;
          for (int d = in.ndim - 1; d >= 0; --d) {
            const bool moves = d >= runs.along;
            const int64_t first = d > runs.along ? 0 : d > 0 ? rest % in.sizes[d] : rest;
            if (d <= runs.along && d > 0) rest /= in.sizes[d];
            int64_t* coordinate = target + d * column;
            const int32_t* by = moves ? runs.by[size_t(d - runs.along)].data() + phase : nullptr;
            for (int64_t j = 0; j < count; ++j) coordinate[j * row] = first + (by ? by[places[j]] : 0);
          }
          at += count;
          i += run;
        }
      }
    });
  });
  return total;
}

void repeat_runs(const View& repeats, const View& out) {
  const int64_t count = repeats.numel(), length = out.numel();
  int64_t at = 0;
  const int64_t step = repeats.ndim ? repeats.strides[0] : 0, stride = out.strides[0];
  dispatch<dtype_set(DType::int32, DType::int64)>(repeats.dtype, "repeat_interleave", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t j = 0; j < count; ++j) {
      const int64_t n = int64_t(repeats.as<T>()[j * step]);
      MT_CHECK(n >= 0, "repeats can not be negative");
      MT_CHECK(n <= length - at, "allocated size does not match required size");
      if (out.dtype == DType::int64) {
        for (int64_t i = 0; i < n; ++i) out.as<int64_t>()[(at + i) * stride] = j;
      } else {
        for (int64_t i = 0; i < n; ++i) out.as<int32_t>()[(at + i) * stride] = int32_t(j);
      }
      at += n;
    }
  });
  MT_CHECK(at == length, "allocated size does not match required size");
}

}  // namespace mt::kernels
