// Recycled objects, per thread: creating and destroying a descriptor costs a few nanoseconds and no lock.
#pragma once

#include <cstddef>
#include <new>

namespace softnpu {

template <class T>
class ObjectPool {
 public:
  // Default-initialised: `T()` would first write zeros over the whole object.
  static T* create() { return new (take()) T; }

  static void destroy(T* object) {
    object->~T();
    give(object);
  }

 private:
  static constexpr size_t kKept = 256;  // per thread; one that only destroys must not hoard

  struct Node {
    Node* next;
  };
  // Constant-initialised, so that using it needs no guard; `Cleanup` empties it when the thread ends.
  struct List {
    Node* first;
    size_t count;
    bool armed, ended;
  };
  struct Cleanup {
    void arm() {}
    ~Cleanup() {
      while (Node* node = list.first) {
        list.first = node->next;
        ::operator delete(node);
      }
      list.ended = true;
    }
  };
  static inline thread_local List list = {};
  static inline thread_local Cleanup cleanup;

  static void* take() {
    if (Node* node = list.first) [[likely]] {
      list.first = node->next;
      --list.count;
      return node;
    }
    return ::operator new(sizeof(T) > sizeof(Node) ? sizeof(T) : sizeof(Node));
  }

  static void give(void* memory) {
    if (list.count >= kKept || list.ended) [[unlikely]] {
      ::operator delete(memory);
      return;
    }
    if (!list.armed) [[unlikely]] {
      list.armed = true;
      cleanup.arm();
    }
    list.first = new (memory) Node{list.first};
    ++list.count;
  }
};

}  // namespace softnpu
