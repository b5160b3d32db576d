#include "core/task_tracer.h"

#include <array>
#include <atomic>

namespace mt {
namespace {

std::array<std::atomic<TaskTracer*>, kDeviceTypes> g_tracers{};

}  // namespace

void set_task_tracer(DeviceType slot, TaskTracer* tracer) {
  g_tracers[size_t(slot)].store(tracer, std::memory_order_release);
}

TaskTracer* find_task_tracer(DeviceType slot) {
  return g_tracers[size_t(slot)].load(std::memory_order_acquire);
}

}  // namespace mt
