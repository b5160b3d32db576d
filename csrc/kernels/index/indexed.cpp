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

// Note [Rows that follow one index]
// Where no index moves along the innermost dimension, a row of it goes where one index says. Rows may be short, as of
// points or of a small embedding, so loops go from row to row themselves: they are called for as many as follow each
// other.
struct Rows {
  Plan plan;               // of rows: the innermost dimension is left out
  int64_t width, step[3];  // elements of a row, and bytes from one to the next in each operand
  const Lookup* lookup;

  Rows(const Plan& elements, const Lookup& at) : plan(elements), width(elements.sizes[0]), lookup(&at) {
    for (int o = 0; o < 3; ++o) step[o] = plan.strides[o][0], plan.strides[o][0] = 0;
    plan.sizes[0] = 1, plan.numel /= width;
    if (plan.ndim == 1) return;
    --plan.ndim;
    std::copy_n(plan.sizes + 1, plan.ndim, plan.sizes);
    for (auto& strides : plan.strides) std::copy_n(strides + 1, plan.ndim, strides);
  }
};

// A call of memcpy takes longer than to copy a few words.
[[gnu::always_inline]] inline void copy_bytes(char* to, const char* from, int64_t n) {
  struct Words {
    uint64_t words[2];
  };
  constexpr int64_t word = sizeof(uint64_t), two = sizeof(Words);
  const auto copy = [&](auto what, int64_t at) { std::memcpy(to + at, from + at, sizeof(what)); };
  if (n < word || n > 8 * two) {
    std::memcpy(to, from, size_t(n));
  } else if (n < two) {  // the second one laps over the first
    copy(uint64_t(), 0), copy(uint64_t(), n - word);
  } else {
    for (int64_t at = 0; at < n - two; at += two) copy(Words(), at);
    copy(Words(), n - two);
  }
}

template <class U>
[[gnu::always_inline]] inline void copy_row(char* to, int64_t to_step, const char* from, int64_t from_step,
                                            int64_t n) {
  constexpr int64_t item = sizeof(U);
  if (to_step == item && from_step == item) return copy_bytes(to, from, n * item);
  for (int64_t i = 0; i < n; ++i)
    *reinterpret_cast<U*>(to + i * to_step) = *reinterpret_cast<const U*>(from + i * from_step);
}

// So many rows ahead a place is asked for: short rows take less time than one of them takes to come.
constexpr int64_t kAhead = 64;

// Operands: out, table, index.
template <class U>
void gather_rows(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const Rows& rows = *static_cast<const Rows*>(context);
  const Places places(*rows.lookup);
  const int64_t width = rows.width, out_step = rows.step[0], step = rows.step[1];
  const int64_t row_stride = rows.lookup->stride;
  for (int64_t i = 0; i < n; ++i) {
    if (i + kAhead < n)  // a place outside does no harm here
      __builtin_prefetch(reinterpret_cast<const char*>(
          uintptr_t(data[1]) + uintptr_t((i + kAhead) * strides[1]) +
          uintptr_t(index_at(data[2] + (i + kAhead) * strides[2])) * uintptr_t(row_stride)));
    copy_row<U>(data[0] + i * strides[0], out_step,
                data[1] + i * strides[1] + places.at(index_at(data[2] + i * strides[2])), step, width);
  }
}

template <class U>
void gather_row(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const Lookup& lookup = *static_cast<const Lookup*>(context);
  char* out = data[0];
  if (strides[2] == 0)
    return copy_row<U>(out, strides[0], data[1] + lookup.at(index_at(data[2])), strides[1], n);
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
    if constexpr (std::is_floating_point_v<T>) {
      const T best = math::select(kMax ? b > a : b < a, b, a);
      return math::select(b != b, b, best);
    }
    const compute_t<T> x(a), y(b);
    const bool takes = (kMax ? y > x : y < x) | math::is_nan(y);
    // By bits: compilers make vectors of numbers, not of structures, and elsewhere a branch that nobody can foretell.
    using Bits = typename unsigned_of<sizeof(T)>::type;
    const Bits mask = Bits(Bits(0) - Bits(takes));
    return std::bit_cast<T>(Bits((std::bit_cast<Bits>(b) & mask) | (std::bit_cast<Bits>(a) & Bits(~mask))));
  }
};

// Rows into those that their indices name.
template <class T, class Op>
struct JoinRows {
  [[gnu::always_inline]] static inline void join(char* target, const char* source, const Rows& rows) {
    constexpr int64_t item = sizeof(T);
    const int64_t width = rows.width, target_step = rows.step[0], source_step = rows.step[2];
    T* to = reinterpret_cast<T*>(target);
    const T* from = reinterpret_cast<const T*>(source);
    if (target_step == item && source_step == item) {
#pragma GCC ivdep
      for (int64_t i = 0; i < width; ++i) to[i] = Op::template join<T>(to[i], from[i]);
      return;
    }
    for (int64_t i = 0; i < width; ++i) {
      T& slot = *reinterpret_cast<T*>(target + i * target_step);
      slot = Op::template join<T>(slot, *reinterpret_cast<const T*>(source + i * source_step));
    }
  }
  [[gnu::always_inline]] static inline void run(char* const* data, const int64_t* strides, int64_t n,
                                                const Rows* rows) {
    const Places places(*rows->lookup);
    for (int64_t i = 0; i < n; ++i)
      join(data[0] + i * strides[0] + places.at(index_at(data[1] + i * strides[1])), data[2] + i * strides[2],
           *rows);
  }
};

// Operands: table, index, source.
template <class T, class Op>
void scatter_rows(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  at_level<JoinRows<T, Op>>(data, strides, n, static_cast<const Rows*>(context));
}

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
  // Where elements go is found out for many at a time, in vectors, and before any of them is joined: a processor reads
  // ahead of writes whose addresses it knows.
  [[gnu::always_inline]] static inline void run(char* const* data, const int64_t* strides, int64_t n,
                                                const Lookup* lookup) {
    constexpr int64_t together = 256;
    const int64_t size = lookup->size, stride = lookup->stride, added = lookup->wraps ? size : 0;
    const int64_t step = strides[0], index_step = strides[1], source_step = strides[2];
    for (int64_t begin = 0; begin < n; begin += together) {
      const int64_t count = std::min(together, n - begin);
      char* table = data[0] + begin * step;
      const char *index = data[1] + begin * index_step, *source = data[2] + begin * source_step;
      int64_t places[together];
      uint64_t outside = 0;  // below 0 once an index is below 0 or above the last
      const auto find = [&](int64_t i, int64_t at) {
        places[i] = at + ((at >> 63) & added);
        outside |= uint64_t(places[i]) | (uint64_t(size - 1) - uint64_t(places[i]));
      };
      if (index_step == int64_t(sizeof(int64_t)))
        for (int64_t i = 0; i < count; ++i) find(i, reinterpret_cast<const int64_t*>(index)[i]);
      else
        for (int64_t i = 0; i < count; ++i) find(i, index_at(index + i * index_step));
      if (int64_t(outside) < 0) [[unlikely]]
        for (int64_t i = 0; i < count; ++i) lookup->at(index_at(index + i * index_step));
      for (int64_t i = 0; i < count; ++i)
        join(table + i * step + places[i] * stride, source + i * source_step);
    }
  }
};

template <class T, class Op>
void scatter_row(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const Lookup* lookup = static_cast<const Lookup*>(context);
  if (!kHasLevels || cpu_level > 0) AtLevels<JoinPlaces<T, Op, true>>::wide(data, strides, n, lookup);
  else AtLevels<JoinPlaces<T, Op, false>>::base(data, strides, n, lookup);
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

// What a list has of an element: its value; and of a row: where it begins.
template <class V>
struct Sent {
  char* target;
  V value;
};
using SentRow = Sent<const char*>;

void count_sent(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const Chunk& chunk = *static_cast<const Chunk*>(context);
  const Blocks blocks = *chunk.blocks;
  const Places places(*blocks.lookup);
  for (int64_t i = 0; i < n; ++i)
    ++chunk.next[blocks.block_of(data[0] + i * strides[0] + places.at(index_at(data[1] + i * strides[1])))];
}

template <class V>
void send(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const Chunk& chunk = *static_cast<const Chunk*>(context);
  const Blocks blocks = *chunk.blocks;
  const Places places(*blocks.lookup);
  Sent<V>* list = static_cast<Sent<V>*>(chunk.list);
  for (int64_t i = 0; i < n; ++i) {
    char* target = data[0] + i * strides[0] + places.at(index_at(data[1] + i * strides[1]));
    const char* source = data[2] + i * strides[2];
    Sent<V>& sent = list[chunk.next[blocks.block_of(target)]++];
    if constexpr (std::is_same_v<Sent<V>, SentRow>) sent = {target, source};
    else sent = {target, *reinterpret_cast<const V*>(source)};
  }
}

// Join [begin, end) of a list, of elements or of rows.
template <class T, class Op>
void join_sent(const void* list, int64_t begin, int64_t end, const Rows*) {
  const Sent<T>* sent = static_cast<const Sent<T>*>(list);
  for (int64_t i = begin; i < end; ++i) {
    T& slot = *reinterpret_cast<T*>(sent[i].target);
    slot = Op::template join<T>(slot, sent[i].value);
  }
}

template <class T, class Op>
struct JoinSentRows {
  [[gnu::always_inline]] static inline void run(const SentRow* begin, const SentRow* end, const Rows* rows) {
    for (; begin < end; ++begin) JoinRows<T, Op>::join(begin->target, begin->value, *rows);
  }
};
template <class T, class Op>
void join_sent_rows(const void* list, int64_t begin, int64_t end, const Rows* rows) {
  const SentRow* sent = static_cast<const SentRow*>(list);
  at_level<JoinSentRows<T, Op>>(sent + begin, sent + end, rows);
}

// The loops of one dtype and way to combine, for elements that have an index each (context: the Lookup) and for rows
// (context: the Rows).
struct ScatterLoops {
  struct Of {
    RowFunction row, send;
    void (*join_sent)(const void* list, int64_t begin, int64_t end, const Rows* rows);
    size_t sent_size;
  };
  Of elements, rows;
};

template <class T, class Op>
constexpr ScatterLoops scatter_loops{
    {scatter_row<T, Op>, send<T>, join_sent<T, Op>, sizeof(Sent<T>)},
    {scatter_rows<T, Op>, send<const char*>, join_sent_rows<T, Op>, sizeof(SentRow)}};

struct GatherLoops {
  RowFunction row, rows;
};
template <class U> constexpr GatherLoops gather_loops{gather_row<U>, gather_rows<U>};

const GatherLoops& gather_of(size_t item) {
  switch (item) {
    case 1: return gather_loops<uint8_t>;
    case 2: return gather_loops<uint16_t>;
    case 4: return gather_loops<uint32_t>;
    case 8: return gather_loops<uint64_t>;
    default: return gather_loops<complex128>;
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
  const GatherLoops& loops = gather_of(itemsize(out.dtype));
  const int64_t width = plan.sizes[0];
  // Longer rows than that are for several threads each.
  if (plan.strides[2][0] != 0 || width > kLookupGrain)
    return for_each_row(plan, kLookupGrain, loops.row, &lookup);
  const Rows rows(plan, lookup);
  for_each_row(rows.plan, kLookupGrain / width, loops.rows, &rows);
}

namespace {

bool has_rows(const Plan& plan) { return plan.strides[1][0] == 0; }

// Where one of the innermost dimensions leads to places of its own, those that meet lie along the other one.
void walk_here(const Plan& plan, RowFunction row, const void* context) {
  if (plan.ndim > 1 && (plan.strides[0][0] != 0 || plan.strides[0][1] != 0))
    for_each_row_here(plan, row, context);
  else for_each_row_in(plan, 0, plan.numel, row, context);
}

void scatter_here(const Plan& plan, const ScatterLoops& loops, const Lookup& lookup) {
  if (!has_rows(plan)) return walk_here(plan, loops.elements.row, &lookup);
  const Rows rows(plan, lookup);
  walk_here(rows.plan, loops.rows.row, &rows);
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

// See Note [Sorted by block]. The plan is of elements or of rows.
void scatter_by_block(const Plan& plan, const ScatterLoops::Of& loops, const Lookup& lookup, const Rows* rows,
                      int64_t threads) {
  constexpr int64_t kTogether = 1 << 20;  // what is in the list at once
  const int64_t span = span_of(plan, lookup);
  const int64_t wanted = 4 * threads, chunks = 2 * threads;
  const Blocks blocks{&lookup, plan.data[0], std::max(6, int(std::bit_width(uint64_t(span / wanted))))};
  const int64_t count = (span >> blocks.shift) + 1;
  std::vector<int64_t> next(size_t(count * chunks)), ends(size_t(count), 0);
  char* list = sent_memory->room<char>(std::min(plan.numel, kTogether) * int64_t(loops.sent_size));
  for (int64_t first = 0; first < plan.numel; first += kTogether) {
    const int64_t total = std::min(kTogether, plan.numel - first), each = (total + chunks - 1) / chunks;
    const auto for_each_chunk = [&](RowFunction row) {
      parallel_for(0, chunks, 1, [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; ++c) {
          const Chunk chunk{&blocks, next.data() + c * count, list};
          for_each_row_in(plan, first + std::min(total, c * each), first + std::min(total, (c + 1) * each),
                          row, &chunk);
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
    for_each_chunk(loops.send);
    parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
      loops.join_sent(list, begin == 0 ? 0 : ends[size_t(begin - 1)], ends[size_t(end - 1)], rows);
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
  if (threads <= 1 || in_parallel_region()) return scatter_here(plan, loops, lookup);
  // No two threads may write to one place.
  const int shared = free_dimension(plan, itemsize(table.dtype), threads);
  if (shared < 0) {
    if (threads <= kFew && span_of(plan, lookup) <= kCached) return scatter_here(plan, loops, lookup);
    if (!has_rows(plan)) return scatter_by_block(plan, loops.elements, lookup, nullptr, threads);
    const Rows rows(plan, lookup);
    return scatter_by_block(rows.plan, loops.rows, lookup, &rows, threads);
  }
  const int64_t width = plan.sizes[shared], each = plan.numel / width;
  const int64_t least = shared == 0 ? kInnerBytes / int64_t(itemsize(table.dtype)) : 1;
  parallel_for(0, width, std::max(least, kLookupGrain / each), [&](int64_t begin, int64_t end) {
    Plan part = plan;
    part.sizes[shared] = end - begin;
    part.numel = each * (end - begin);
    for (int o = 0; o < part.operands; ++o) part.data[o] += begin * part.strides[o][shared];
    scatter_here(part, loops, lookup);
  });
}

void add_offsets(const View& offsets, const Lookup& lookup) {
  const View* operands[] = {&offsets, &lookup.index};
  Plan plan;
  make_plan(plan, operands, 2);
  if (plan.numel != 0) for_each_row(plan, kLookupGrain, offset_row, &lookup);
}

}  // namespace mt::kernels
