#include "kernels/sort/sort.h"

#include <bit>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/common/arithmetic.h"
#include "kernels/common/copy.h"
#include "kernels/common/dense.h"
#include "kernels/common/levels.h"
#include "kernels/common/parallel.h"
#include "kernels/common/temporary.h"
#include "kernels/common/thread_buffer.h"
#include "kernels/sort/lines.h"
#include "kernels/sort/order_key.h"

namespace mt::kernels {
namespace {

template <class K>
struct Entry {
  K key;
  uint32_t index;
  bool operator<(const Entry& other) const { return key < other.key; }
};

// By key, then by place: what a stable sort would put first.
template <class K>
bool stable_less(const Entry<K>& a, const Entry<K>& b) {
  return a.key != b.key ? a.key < b.key : a.index < b.index;
}

// From this length on, passes over the bytes of all keys beat what is done with few.
template <class K> constexpr int64_t kRadixFrom = 32 * (1 + sizeof(K));

// Stable, by one byte at a time; bytes that all keys share are skipped. Gives whichever buffer holds the result.
template <class K>
Entry<K>* radix_sort(Entry<K>* from, Entry<K>* to, int64_t n) {
  constexpr int kBytes = sizeof(K);
  uint32_t counts[kBytes * 256] = {};
  for (int64_t i = 0; i < n; ++i)
    for (int b = 0; b < kBytes; ++b) ++counts[b * 256 + int(from[i].key >> (8 * b) & 0xff)];
  for (int b = 0; b < kBytes; ++b) {
    uint32_t* count = counts + b * 256;
    if (count[from[0].key >> (8 * b) & 0xff] == uint32_t(n)) continue;
    uint32_t start = 0;
    for (int v = 0; v < 256; ++v) start += std::exchange(count[v], start);
    for (int64_t i = 0; i < n; ++i) to[count[from[i].key >> (8 * b) & 0xff]++] = from[i];
    std::swap(from, to);
  }
  return from;
}

// Note [Short lines]
// Keys less their least one and places, in so many bits that both fit into a word: equal keys come in order of their
// places, whatever sorts the words. Comparing costs a branch that nobody foresees, a pass over a byte a part for the counts
// and a part for each word.
bool passes_pay(int passes, int64_t n) {
  return passes * (64 + n) < n * int64_t(std::bit_width(uint64_t(n))) * 2;
}

template <class K>
Entry<K>* sort_few(Entry<K>* from, Entry<K>* scratch, int64_t n) {
  if (n < 2) return from;
  K least = from[0].key, most = from[0].key;
  for (int64_t i = 1; i < n; ++i) least = std::min(least, from[i].key), most = std::max(most, from[i].key);
  const int span = std::bit_width(K(most - least)), places = std::bit_width(uint64_t(n - 1));
  if (span + places > 64) {
    std::sort(from, from + n, stable_less<K>);  // needs no memory of its own
    return from;
  }
  uint64_t rooms[2][kRadixFrom<uint64_t>], *words = rooms[0], *other = rooms[1];
  for (int64_t i = 0; i < n; ++i) words[i] = uint64_t(from[i].key - least) << places | uint64_t(i);
  if (const int passes = (span + 7) / 8; passes_pay(passes, n)) {
    for (int pass = 0; pass < passes; ++pass, std::swap(words, other)) {
      const int shift = places + 8 * pass;
      uint32_t places_of[256] = {}, start = 0;
      for (int64_t i = 0; i < n; ++i) ++places_of[words[i] >> shift & 0xff];
      for (uint32_t& place : places_of) start += std::exchange(place, start);
      for (int64_t i = 0; i < n; ++i) other[places_of[words[i] >> shift & 0xff]++] = words[i];
    }
  } else {
    std::sort(words, words + n);
  }
  const uint64_t mask = (uint64_t(1) << places) - 1;
  for (int64_t i = 0; i < n; ++i) scratch[i] = from[words[i] & mask];
  return scratch;
}

template <class K>
Entry<K>* sort_one(Entry<K>* from, Entry<K>* scratch, int64_t n) {
  return n < kRadixFrom<K> ? sort_few(from, scratch, n) : radix_sort(from, scratch, n);
}

// Which of the parts an entry belongs to: how many of the first entries of parts (all but the first's) are not behind
// it. The number of parts is a power of two.
template <class K>
int64_t part_of(const Entry<K>& entry, const Entry<K>* firsts, int64_t parts) {
  int64_t part = 0;
  for (int64_t step = parts / 2; step > 0; step /= 2) {
    const Entry<K>& first = firsts[part + step - 1];
    const bool before = (entry.key < first.key) | ((entry.key == first.key) & (entry.index < first.index));
    part += before ? 0 : step;
  }
  return part;
}

// Note [Sorting side by side]
// A long line is cut into parts whose entries all lie between two of a sample, by key and then by place, so that equal keys
// do not end up in one part. Threads count the entries of each part in chunks of the line, bring them to their parts, and
// sort the parts. Every order is that of a stable sort, for any number of threads.
//
// Calls done(sorted entries, begin, end) for ranges of the result, maybe at the same time; both buffers hold n entries.
template <class K, class Done>
void sort_entries(Entry<K>* from, Entry<K>* scratch, int64_t n, const Done& done) {
  const int64_t threads = threads_inside(n);
  if (threads == 1) return done(sort_one(from, scratch, n), 0, n);
  constexpr int64_t kSamples = 8;  // of each part
  const int64_t parts = int64_t(std::bit_ceil(uint64_t(4 * threads))), samples = kSamples * parts;
  std::vector<Entry<K>> firsts(static_cast<size_t>(samples));
  for (int64_t i = 0; i < samples; ++i) firsts[size_t(i)] = from[i * n / samples];
  std::sort(firsts.begin(), firsts.end(), stable_less<K>);
  for (int64_t p = 1; p < parts; ++p) firsts[size_t(p - 1)] = firsts[size_t(p * kSamples)];

  const int64_t chunks = 2 * threads, each = (n + chunks - 1) / chunks;
  std::vector<int64_t> next(size_t(chunks * parts), 0), ends(static_cast<size_t>(parts));
  const std::unique_ptr<uint16_t[]> part_at(new uint16_t[size_t(n)]);
  const auto for_each_chunk = [&](const auto& f) {
    parallel_for(0, chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        int64_t* counts = next.data() + c * parts;
        for (int64_t i = c * each, last = std::min(n, (c + 1) * each); i < last; ++i) f(i, counts);
      }
    });
  };
  for_each_chunk([&](int64_t i, int64_t* counts) {
    const int64_t part = part_of(from[i], firsts.data(), parts);
    part_at[size_t(i)] = uint16_t(part);
    ++counts[part];
  });
  int64_t at = 0;
  for (int64_t p = 0; p < parts; ++p) {
    for (int64_t c = 0; c < chunks; ++c) at += std::exchange(next[size_t(c * parts + p)], at);
    ends[size_t(p)] = at;
  }
  for_each_chunk([&](int64_t i, int64_t* places) { scratch[places[part_at[size_t(i)]]++] = from[i]; });
  parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const int64_t first = p == 0 ? 0 : ends[size_t(p - 1)], last = ends[size_t(p)];
      if (first < last) done(sort_one(scratch + first, from + first, last - first), first, last);
    }
  });
}

template <class T>
T read(const char* data) {
  return *reinterpret_cast<const T*>(data);
}

int64_t byte_stride(const View& view, int dim) { return view.strides[dim] * int64_t(itemsize(view.dtype)); }

void check_length(int64_t n) {
  MT_CHECK(n < int64_t(UINT32_MAX), "sorting more than ", UINT32_MAX,
           " elements along a dimension is not supported");
}

// Short lines need no allocation.
template <class K> using Room = Scratch<Entry<K>, 256>;

// Two buffers of entries: long ones in large pages, which threads touch first.
template <class K>
class TwoRooms {
 public:
  explicit TwoRooms(int64_t n)
      : n_(n),
        small_(n < kSplitFrom ? 2 * n : 0),
        first_(n < kSplitFrom ? small_.data() : large_.room<Entry<K>>(2 * n)) {}
  Entry<K>* first() { return first_; }
  Entry<K>* second() { return first_ + n_; }

 private:
  int64_t n_;
  Room<K> small_;
  ThreadBuffer large_;
  Entry<K>* first_;
};

// The keys of one line; `flip` turns the order round without touching the order of equals.
template <class T>
struct Keys {
  using K = order_key_t<T>;
  const char* line;
  int64_t stride;
  K mask;
  Keys(const char* at, int64_t step, bool flip) : line(at), stride(step), mask(flip ? K(~K(0)) : K(0)) {}
  [[gnu::always_inline]] K operator[](int64_t i) const {
    return K(order_key(read<T>(line + i * stride)) ^ mask);
  }
  // Integers only: the element that has a key.
  T element(K key) const { return T(K(key ^ mask ^ order_key(T(0)))); }
};

// Entries of keys less their least one, which an N has bits enough for.
template <class T, class N>
void read_entries(const Keys<T>& keys, int64_t n, order_key_t<T> least, Entry<N>* entries) {
  parallel_for(0, n, kGrain / 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) entries[i] = {N(keys[i] - least), uint32_t(i)};
  });
}
template <class T>
void read_line(const char* line, int64_t stride, int64_t n, bool flip, Entry<order_key_t<T>>* entries) {
  read_entries<T>(Keys<T>(line, stride, flip), n, order_key_t<T>(0), entries);
}

// The lines of one operator: where elements and results lie.
template <class T>
struct Line {
  int64_t n, stride, value_stride, index_stride;
  Line(const View& in, int dim, const View& values, const View& indices)
      : n(in.sizes[dim]),
        stride(byte_stride(in, dim)),
        value_stride(byte_stride(values, dim)),
        index_stride(byte_stride(indices, dim)) {
    check_length(n);
  }
  bool is_dense() const {
    constexpr int64_t item = sizeof(T), index_item = sizeof(int64_t);
    return stride == item && value_stride == item && index_stride == index_item;
  }
  void write(const char* line, char* values, char* indices, int64_t at, int64_t index) const {
    *reinterpret_cast<T*>(values + at * value_stride) = read<T>(line + index * stride);
    *reinterpret_cast<int64_t*>(indices + at * index_stride) = index;
  }
};

}  // namespace

namespace {

// How many threads share a line out, and what each of them takes of it.
struct Parts {
  int64_t n, count, each;
  explicit Parts(int64_t length)
      : n(length), count(threads_inside(length)), each((length + count - 1) / count) {}
  // Calls f(part, begin, end) for all parts, maybe at the same time.
  template <class F>
  void for_each(const F& f) const {
    parallel_for(0, count, 1, [&](int64_t first, int64_t last) {
      for (int64_t p = first; p < last; ++p) f(p, std::min(n, p * each), std::min(n, (p + 1) * each));
    });
  }
};

template <class T>
struct KeyRange {
  using K = order_key_t<T>;
  [[gnu::always_inline]] static inline void run(const Keys<T>* of, int64_t begin, int64_t end, K* least,
                                                K* most) {
    const Keys<T> keys = *of;
    K low = K(~K(0)), high = 0;
    if (keys.stride == int64_t(sizeof(T))) {
      const T* line = reinterpret_cast<const T*>(keys.line);
      for (int64_t i = begin; i < end; ++i) {
        const K key = K(order_key(line[i]) ^ keys.mask);
        low = std::min(low, key), high = std::max(high, key);
      }
    } else {
      for (int64_t i = begin; i < end; ++i) low = std::min(low, keys[i]), high = std::max(high, keys[i]);
    }
    *least = low, *most = high;
  }
};

template <class T>
std::pair<order_key_t<T>, order_key_t<T>> key_range(const Keys<T>& keys, int64_t n) {
  using K = order_key_t<T>;
  const Parts parts(n);
  std::vector<K> least(size_t(parts.count)), most(size_t(parts.count));
  parts.for_each([&](int64_t p, int64_t begin, int64_t end) {
    at_level<KeyRange<T>>(&keys, begin, end, &least[size_t(p)], &most[size_t(p)]);
  });
  return {*std::ranges::min_element(least), *std::ranges::max_element(most)};
}

// Note [Integers of few values]
// Where a line has several elements for each value that it can have, they are counted: from the counts come the places
// of each value's run, for each part of the line, and nothing is compared or moved but the places of the elements.
constexpr int64_t kCountedValues = 1 << 11, kCountedShare = 4;

template <class T>
void sort_counted(const Line<T>& shape, const Keys<T>& keys, order_key_t<T> least, int64_t values,
                  char* value, char* index) {
  using K = order_key_t<T>;
  const Parts parts(shape.n);
  std::vector<uint32_t> next(size_t(parts.count * values), 0);
  std::vector<uint32_t> starts(size_t(values) + 1);
  parts.for_each([&](int64_t p, int64_t begin, int64_t end) {
    uint32_t* counts = next.data() + p * values;
    for (int64_t i = begin; i < end; ++i) ++counts[K(keys[i] - least)];
  });
  uint32_t at = 0;
  for (int64_t v = 0; v < values; ++v) {
    starts[size_t(v)] = at;
    for (int64_t p = 0; p < parts.count; ++p) at += std::exchange(next[size_t(p * values + v)], at);
  }
  starts[size_t(values)] = at;
  parts.for_each([&](int64_t p, int64_t begin, int64_t end) {
    uint32_t* places = next.data() + p * values;
    for (int64_t i = begin; i < end; ++i)
      *reinterpret_cast<int64_t*>(index + places[K(keys[i] - least)]++ * shape.index_stride) = i;
  });
  // Last: the values may lie where the line does.
  for (int64_t v = 0; v < values; ++v) {
    const T element = keys.element(K(least + K(v)));
    for (int64_t i = starts[size_t(v)]; i < starts[size_t(v) + 1]; ++i)
      *reinterpret_cast<T*>(value + i * shape.value_stride) = element;
  }
}

// By keys less their least one, in an N.
template <class N, class T>
void sort_by(const Line<T>& shape, const Keys<T>& keys, order_key_t<T> least, char* value, char* index) {
  TwoRooms<N> rooms(shape.n);
  read_entries(keys, shape.n, least, rooms.first());
  const char* line = keys.line;
  Line<T> from = shape;
  std::unique_ptr<T[]> kept;
  if (line == value) {  // in place: the values would overwrite one another
    kept.reset(new T[size_t(shape.n)]);
    for (int64_t i = 0; i < shape.n; ++i) kept[size_t(i)] = read<T>(line + i * shape.stride);
    line = reinterpret_cast<const char*>(kept.get());
    from.stride = sizeof(T);
  }
  sort_entries(rooms.first(), rooms.second(), shape.n,
               [&](const Entry<N>* sorted, int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i)
                   from.write(line, value, index, i, sorted[i - begin].index);
               });
}

// Few passes over few bytes, where the keys of a line lie close together.
template <class T>
void sort_line(const Line<T>& shape, const Keys<T>& keys, char* value, char* index) {
  using K = order_key_t<T>;
  if constexpr (std::is_integral_v<T>) {
    if (shape.n >= kRadixFrom<K>) {
      const auto [least, most] = key_range(keys, shape.n);
      const uint64_t span = K(most - least);
      if (span < uint64_t(std::min(kCountedValues, shape.n / kCountedShare)))
        return sort_counted(shape, keys, least, int64_t(span) + 1, value, index);
      if (sizeof(K) > sizeof(uint32_t) && span <= std::numeric_limits<uint32_t>::max())
        return sort_by<uint32_t>(shape, keys, least, value, index);
    }
  }
  sort_by<K>(shape, keys, K(0), value, index);
}

}  // namespace

void sort(const View& in, int dim, bool descending, const View& values, const View& indices) {
  dispatch<domains::every_ordered>(in.dtype, "sort", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Line<T> shape(in, dim, values, indices);
    for_each_split_line(in, values, indices, dim, [&](const char* line, char* value, char* index) {
      sort_line(shape, Keys<T>(line, shape.stride, descending), value, index);
    });
  });
}

namespace {

// The keys of elements side by side, and whether one of them is below `bound`.
template <class T>
struct KeysBelow {
  using K = order_key_t<T>;
  [[gnu::always_inline]] static inline void run(const T* x, int64_t n, K mask, K bound, K* keys,
                                                bool* found) {
    K below = 0;
    for (int64_t i = 0; i < n; ++i) {
      keys[i] = K(order_key(x[i]) ^ mask);
      below |= K(keys[i] < bound ? 1 : 0);
    }
    *found = below != 0;
  }
};

// Entry k of a line in stable order. A long line is narrowed down by digits of its keys: they are counted, and the entries
// that have the digit of entry k stay, in their order.
template <class T>
Entry<order_key_t<T>> nth_entry(const char* line, int64_t stride, int64_t n, int64_t k) {
  using K = order_key_t<T>;
  constexpr int kBits = 8 * int(sizeof(K)), kDigit = std::min(kBits, 11);
  constexpr int64_t kFew = 256;
  if (n <= 2 * kFew) {
    Room<K> room(n);
    read_line<T>(line, stride, n, false, room.data());
    std::nth_element(room.data(), room.data() + k, room.data() + n, stable_less<K>);
    return room[k];
  }
  uint32_t counts[1 << kDigit];
  const auto digit_of_k = [&] {
    uint32_t digit = 0;
    while (k >= counts[digit]) k -= counts[digit++];
    return digit;
  };
  const auto key_at = [&](int64_t i) { return order_key(read<T>(line + i * stride)); };
  int shift = kBits - kDigit;
  std::fill(std::begin(counts), std::end(counts), 0u);
  for (int64_t i = 0; i < n; ++i) ++counts[key_at(i) >> shift];
  const uint32_t first = digit_of_k();
  const std::unique_ptr<Entry<K>[]> kept(new Entry<K>[counts[first] + 1]);
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    const K key = key_at(i);
    kept[size_t(count)] = {key, uint32_t(i)};
    count += uint32_t(key >> shift) == first;
  }
  while (count > kFew && shift > 0) {
    const int next = std::max(shift - kDigit, 0);
    const K mask = K((K(1) << (shift - next)) - 1);
    std::fill(std::begin(counts), std::end(counts), 0u);
    for (int64_t i = 0; i < count; ++i) ++counts[kept[size_t(i)].key >> next & mask];
    const uint32_t digit = digit_of_k();
    count = std::remove_if(kept.get(), kept.get() + count,
                           [&](const Entry<K>& e) { return uint32_t(e.key >> next & mask) != digit; }) -
            kept.get();
    shift = next;
  }
  if (shift > 0) std::nth_element(kept.get(), kept.get() + k, kept.get() + count, stable_less<K>);
  return kept[size_t(k)];  // without a digit left, all are equal
}

// The k smallest entries of a line, in order. Few of many: a heap of the best so far, which most elements never enter.
template <class T>
void smallest(const char* line, int64_t stride, int64_t n, bool flip, int64_t k, Room<order_key_t<T>>& room) {
  using K = order_key_t<T>;
  Entry<K>* best = room.data();
  if (k * 16 > n) {
    read_line<T>(line, stride, n, flip, best);
    if (k < n) std::nth_element(best, best + k - 1, best + n, stable_less<K>);
    std::sort(best, best + k, stable_less<K>);
    return;
  }
  const K mask = flip ? K(~K(0)) : K(0);
  read_line<T>(line, stride, k, flip, best);
  std::make_heap(best, best + k, stable_less<K>);
  const auto offer = [&](K key, int64_t i) {
    if (key >= best[0].key) return;  // an equal one came earlier
    std::pop_heap(best, best + k, stable_less<K>);
    best[k - 1] = {key, uint32_t(i)};
    std::push_heap(best, best + k, stable_less<K>);
  };
  if (stride != int64_t(sizeof(T))) {
    for (int64_t i = k; i < n; ++i) offer(K(order_key(read<T>(line + i * stride)) ^ mask), i);
  } else {
    constexpr int64_t kTogether = 64;
    K keys[kTogether];
    for (int64_t i = k; i < n; i += kTogether) {
      const int64_t count = std::min(kTogether, n - i);
      bool found;
      at_level<KeysBelow<T>>(reinterpret_cast<const T*>(line) + i, count, mask, best[0].key, keys, &found);
      for (int64_t j = 0; found && j < count; ++j) offer(keys[j], i + j);
    }
  }
  std::sort_heap(best, best + k, stable_less<K>);
}

}  // namespace

namespace {

// The same elements with one dimension behind all others.
struct LinesLast {
  int64_t sizes[kMaxDims], strides[kMaxDims];
  View view;
  LinesLast(const View& of, int dim) : view{of.data, sizes, strides, of.ndim, of.dtype} {
    for (int d = 0, to = 0; d < of.ndim; ++d) {
      const int at = d == dim ? of.ndim - 1 : to++;
      sizes[at] = of.sizes[d], strides[at] = of.strides[d];
    }
  }
};

}  // namespace

void topk(const View& in, int dim, int64_t k, bool largest, const View& values, const View& indices) {
  if (k == 0) return;
  dispatch<domains::every_ordered>(in.dtype, "topk_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const LinesLast from(in, dim), first(values, dim), second(indices, dim);
    const int last = std::max(in.ndim - 1, 0);
    // Lines across memory are turned first, all together.
    std::optional<Dense> turned;
    if (from.view.ndim > 1 && from.view.strides[last] != 1) turned.emplace(from.view, in.dtype, Access::read);
    const View& lines = turned ? turned->view() : from.view;
    const Line<T> shape(lines, last, first.view, second.view);
    for_each_line(lines, first.view, second.view, last, [&](const char* line, char* value, char* index) {
      Room<order_key_t<T>> room(k * 16 > shape.n ? shape.n : k);
      smallest<T>(line, shape.stride, shape.n, largest, k, room);
      for (int64_t i = 0; i < k; ++i) shape.write(line, value, index, i, room[i].index);
    });
  });
}

void kth_value(const View& in, int dim, int64_t k, const View& values, const View& indices) {
  dispatch<domains::real>(in.dtype, "kthvalue_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Line<T> shape(in, dim, values, indices);
    for_each_line(in, values, indices, dim, [&](const char* line, char* value, char* index) {
      shape.write(line, value, index, 0, nth_entry<T>(line, shape.stride, shape.n, k).index);
    });
  });
}

void median(const View& in, int dim, bool ignore_nan, const View& values, const View& indices) {
  dispatch<domains::real>(in.dtype, "median_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Line<T> shape(in, dim, values, indices);
    for_each_line(in, values, indices, dim, [&](const char* line, char* value, char* index) {
      const auto is_nan = [&](int64_t i) {
        return math::is_nan(compute_t<T>(read<T>(line + i * shape.stride)));
      };
      int64_t numbers = 0, first_nan = 0;
      for (int64_t i = 0; i < shape.n; ++i) numbers += is_nan(i) ? 0 : 1;
      if (numbers == 0 || (numbers < shape.n && !ignore_nan)) {
        while (!is_nan(first_nan)) ++first_nan;
        return shape.write(line, value, index, 0, first_nan);
      }
      const int64_t middle = (numbers - 1) / 2;  // NaNs lie behind the numbers
      shape.write(line, value, index, 0, nth_entry<T>(line, shape.stride, shape.n, middle).index);
    });
  });
}

void median_of_all(const View& in, bool ignore_nan, const View& value) {
  const int64_t numel = in.numel(), one = 1;
  if (numel == 0) {
    const Scalar nothing = is_floating(in.dtype) ? Scalar(std::numeric_limits<double>::quiet_NaN())
                                                 : Scalar(std::numeric_limits<int64_t>::min());
    return fill(value, nothing);
  }
  const Temporary dense(in, in.dtype);
  copy(in, dense.view());
  int64_t place;
  median(View{dense.view().data, &numel, &one, 1, in.dtype}, 0, ignore_nan,
         View{value.data, &one, &one, 1, value.dtype}, View{&place, &one, &one, 1, DType::int64});
}

void mode(const View& in, int dim, const View& values, const View& indices) {
  dispatch<domains::every_ordered>(in.dtype, "mode_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using K = order_key_t<T>;
    const Line<T> shape(in, dim, values, indices);
    for_each_split_line(in, values, indices, dim, [&](const char* line, char* value, char* index) {
      TwoRooms<K> rooms(shape.n);
      Entry<K>* sorted = rooms.first();
      read_line<T>(line, shape.stride, shape.n, false, sorted);
      sort_entries(sorted, rooms.second(), shape.n, [&](Entry<K>* part, int64_t begin, int64_t end) {
        if (part != sorted + begin) std::copy(part, part + (end - begin), sorted + begin);
      });
      int64_t best = 0, best_end = 0;
      for (int64_t begin = 0, end; begin < shape.n; begin = end) {
        for (end = begin + 1; end < shape.n && sorted[end].key == sorted[begin].key;) ++end;
        if (end - begin > best) best = end - begin, best_end = end;
      }
      shape.write(line, value, index, 0, sorted[best_end - 1].index);
    });
  });
}

namespace {

// Lines side by side: each step of a line waits for the one before it, but not for those of the other lines. What is chosen
// is chosen by bits, because branches on ties and on falling numbers cannot be foretold.
template <class T, bool kMax, int kLines>
void running_extrema(const Line<T>& shape, char* const* data, const int64_t* strides) {
  using C = compute_t<T>;
  using Bits = typename unsigned_of<sizeof(C)>::type;
  C best[kLines];
  int64_t place[kLines] = {};
  for (int l = 0; l < kLines; ++l) best[l] = C(read<T>(data[0] + l * strides[0]));
  for (int64_t i = 0; i < shape.n; ++i) {
    for (int l = 0; l < kLines; ++l) {
      const C x(read<T>(data[0] + l * strides[0] + i * shape.stride)), old = best[l];
      const bool takes = (kMax ? !(x < old) : !(x > old)) & (!math::is_nan(old) | math::is_nan(x));
      const Bits chosen = Bits(Bits(0) - Bits(takes)), kept = Bits(~chosen);
      best[l] = std::bit_cast<C>(Bits((std::bit_cast<Bits>(x) & chosen) | (std::bit_cast<Bits>(old) & kept)));
      const int64_t mask = -int64_t(takes);
      place[l] = (i & mask) | (place[l] & ~mask);
      *reinterpret_cast<T*>(data[1] + l * strides[1] + i * shape.value_stride) = T(best[l]);
      *reinterpret_cast<int64_t*>(data[2] + l * strides[2] + i * shape.index_stride) = place[l];
    }
  }
}

// Of numbers that lie one after the other: those of a block, most of which are none that takes the place of the best so
// far, are looked at together.
template <class T, bool kMax>
void running_extreme_of(const T* x, T* values, int64_t* places, int64_t n) {
  using Bits = typename unsigned_of<sizeof(T)>::type;
  constexpr int64_t together = 16;
  T best = x[0];
  int64_t place = 0, begin = 0;
  const auto one_by_one = [&](int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const bool stays = kMax ? x[i] < best : x[i] > best;
      if (!stays && (!math::is_nan(best) || math::is_nan(x[i]))) best = x[i], place = i;
      values[i] = best, places[i] = place;
    }
  };
  for (; begin + together <= n; begin += together) {
    Bits taking = 0;
    for (int64_t i = begin; i < begin + together; ++i) taking |= Bits(!(kMax ? x[i] < best : x[i] > best));
    if (taking) {
      one_by_one(begin + together);
    } else {
      std::fill_n(values + begin, together, best);
      std::fill_n(places + begin, together, place);
    }
  }
  one_by_one(n);
}

template <class T, bool kMax>
void running_extrema(const View& in, int dim, const View& values, const View& indices) {
  constexpr int together = 4;
  const Line<T> shape(in, dim, values, indices);
  if (shape.n == 0) return;
  detail::for_each_run(
      in, values, indices, dim, false, [&](char* const* data, const int64_t* strides, int64_t n) {
        char* at[] = {data[0], data[1], data[2]};
        const auto advance = [&](int64_t lines) {
          for (int o = 0; o < 3; ++o) at[o] += lines * strides[o];
        };
        if constexpr (std::is_floating_point_v<T>) {
          if (shape.is_dense()) {
            for (; n > 0; --n, advance(1))
              running_extreme_of<T, kMax>(reinterpret_cast<const T*>(at[0]), reinterpret_cast<T*>(at[1]),
                                          reinterpret_cast<int64_t*>(at[2]), shape.n);
            return;
          }
        }
        for (; n >= together; n -= together, advance(together))
          running_extrema<T, kMax, together>(shape, at, strides);
        for (; n > 0; --n, advance(1)) running_extrema<T, kMax, 1>(shape, at, strides);
      });
}

}  // namespace

void running_extremum(bool max, const View& in, int dim, const View& values, const View& indices) {
  dispatch<domains::ordered>(in.dtype, max ? "cummax_cpu" : "cummin_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    (max ? running_extrema<T, true> : running_extrema<T, false>)(in, dim, values, indices);
  });
}

}  // namespace mt::kernels
