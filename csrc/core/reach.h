// Note [Storages that shrink]
// Every way to make a tensor checks that it lies inside its storage, so nobody looks again, except where a program has
// made a storage smaller (untyped_storage().resize_): tensors made before may now reach beyond its end. From the first
// time on, whoever hands a tensor's memory out compares; until then that is a load and a branch.
#pragma once

#include "core/tensor.h"

namespace mt {

extern std::atomic<bool> g_storages_shrank;
void refuse_reach_beyond_storage(const Tensor& tensor);

inline void check_reach(const Tensor& tensor) {
  if (g_storages_shrank.load(std::memory_order_relaxed)) [[unlikely]]
    refuse_reach_beyond_storage(tensor);
}

}  // namespace mt
