// Operators that a device makes of others, where a program on meta stands for that device: Note [Memory on meta].
#pragma once

#include "core/dispatch.h"
#include "core/meta_memory.h"

namespace mt {

// The operator's parts, to be run on meta for what they take; null if the device has a kernel, or none is meant.
template <class Signature>
[[gnu::cold, gnu::noinline]] Signature* parts_on_meta(const KernelTable<Signature>& table) {
  const MetaMeaning meant = meta_meaning();
  Signature* const parts = table.cell[int(DeviceType::meta)];
  return meant.parts && table.cell[int(meant.type)] == parts ? parts : nullptr;
}

}  // namespace mt
