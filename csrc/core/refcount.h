// Intrusive reference counting. A sole owner pays for no atomic read-modify-write.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace mt {

// T has a member `std::atomic<uint32_t> refs` and a static function `void destroy(T*)`.
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  Ref(const Ref& other) : pointer_(other.pointer_) { retain(pointer_); }
  Ref(Ref&& other) noexcept : pointer_(std::exchange(other.pointer_, nullptr)) {}
  Ref& operator=(const Ref& other) {
    Ref copy(other);
    std::swap(pointer_, copy.pointer_);
    return *this;
  }
  Ref& operator=(Ref&& other) noexcept {
    std::swap(pointer_, other.pointer_);
    return *this;
  }
  ~Ref() { release(pointer_); }

  static Ref adopt(T* pointer) {  // takes over one reference
    Ref r;
    r.pointer_ = pointer;
    return r;
  }
  static Ref share(T* pointer) {  // adds a reference
    retain(pointer);
    return adopt(pointer);
  }
  T* detach() { return std::exchange(pointer_, nullptr); }  // gives up the reference to the caller

  T* get() const { return pointer_; }
  T* operator->() const { return pointer_; }
  T& operator*() const { return *pointer_; }
  explicit operator bool() const { return pointer_ != nullptr; }
  bool operator==(const Ref& other) const { return pointer_ == other.pointer_; }

  static void retain(T* pointer) {
    if (pointer) pointer->refs.fetch_add(1, std::memory_order_relaxed);
  }
  static void release(T* pointer) {
    if (!pointer) return;
    if (pointer->refs.load(std::memory_order_acquire) == 1 ||
        pointer->refs.fetch_sub(1, std::memory_order_acq_rel) == 1)
      T::destroy(pointer);
  }

 private:
  T* pointer_ = nullptr;
};

}  // namespace mt
