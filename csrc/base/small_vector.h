// A vector of trivial values that keeps the first N in place: dims, strides and the like.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <type_traits>

namespace mt {

template <class T, unsigned N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  SmallVector() = default;
  explicit SmallVector(size_t n, T value = T()) {
    if (n <= N) {
      std::fill_n(inline_, N, value);  // all of them: a known number is a few instructions
      size_ = uint32_t(n);
    } else {
      resize(n, value);
    }
  }
  SmallVector(std::initializer_list<T> values) { assign(values.begin(), values.size()); }
  SmallVector(std::span<const T> values) { assign(values.data(), values.size()); }
  SmallVector(const SmallVector& other) { copy(other); }
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) copy(other);
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      if (on_heap()) delete[] heap_;
      take(other);
    }
    return *this;
  }
  ~SmallVector() {
    if (on_heap()) delete[] heap_;
  }

  T* data() { return on_heap() ? heap_ : inline_; }
  const T* data() const { return on_heap() ? heap_ : inline_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  T& back() { return data()[size_ - 1]; }
  operator std::span<const T>() const { return {data(), size_}; }
  bool operator==(const SmallVector& other) const { return std::ranges::equal(*this, other); }

  void push_back(T value) {
    reserve(size_ + 1);
    data()[size_++] = value;
  }
  void resize(size_t n, T value = T()) {
    reserve(n);
    for (size_t i = size_; i < n; ++i) data()[i] = value;
    size_ = uint32_t(n);
  }
  void insert(size_t at, T value) {
    push_back(value);
    std::rotate(begin() + at, end() - 1, end());
  }
  void erase(size_t at) {
    std::copy(begin() + at + 1, end(), begin() + at);
    --size_;
  }
  void clear() { size_ = 0; }

 private:
  bool on_heap() const { return capacity_ > N; }
  void reserve(size_t n) {
    if (n <= capacity_) [[likely]]
      return;
    const size_t capacity = std::max<size_t>(n, capacity_ * 2);
    T* grown = new T[capacity];
    std::memcpy(grown, data(), size_ * sizeof(T));
    if (on_heap()) delete[] heap_;
    heap_ = grown;
    capacity_ = uint32_t(capacity);
  }
  void assign(const T* values, size_t n) {
    reserve(n);
    if (n) std::memmove(data(), values, n * sizeof(T));
    size_ = uint32_t(n);
  }
  void copy(const SmallVector& other) {
    if (on_heap() || other.on_heap()) return assign(other.data(), other.size());
    std::memcpy(inline_, other.inline_, sizeof(inline_));
    size_ = other.size_;
  }
  void take(SmallVector& other) {
    size_ = other.size_;
    capacity_ = other.capacity_;
    if (other.on_heap()) {
      heap_ = other.heap_;
      other.capacity_ = N;
    } else {
      std::memcpy(inline_, other.inline_, sizeof(inline_));
    }
    other.size_ = 0;
  }

  uint32_t size_ = 0;
  uint32_t capacity_ = N;
  union {
    T inline_[N];
    T* heap_;
  };
};

}  // namespace mt
