// Objects of Python that a storage keeps alive.
#pragma once

#include <atomic>

#include "core/storage.h"

namespace mt {

// Called with a storage that is being destroyed; null while no storage keeps an object, which is nearly always.
extern std::atomic<void (*)(Storage*)> g_release_kept_object;

}  // namespace mt
