#include "runtime/watchers.h"

namespace mt::runtime {

void Watchers::set_reason(Reason reason, bool on) {
  if (on) reasons_.fetch_or(reason, std::memory_order_relaxed);
  else reasons_.fetch_and(uint8_t(~reason), std::memory_order_relaxed);
}

template <class Change>
void Watchers::change(Change change) {
  const auto now = functions_.load();
  Functions changed = now ? *now : Functions{};
  change(changed);
  const bool watching = changed.record_stack || changed.memory_event || changed.marks.used;
  const bool any = watching || changed.out_of_memory;
  functions_.store(any ? std::make_shared<const Functions>(std::move(changed)) : nullptr);
  set_reason(kWatching, watching);
}

void Watchers::set_stack_recorder(RecordStack record, DescribeStack describe) {
  change([&](Functions& functions) {
    functions.record_stack = std::move(record);
    functions.describe_stack = std::move(describe);
  });
}

void Watchers::set_memory_observer(MemoryObserver observer) {
  change([&](Functions& functions) { functions.memory_event = std::move(observer); });
}

void Watchers::set_out_of_memory_observer(OutOfMemoryObserver observer) {
  change([&](Functions& functions) { functions.out_of_memory = std::move(observer); });
}

void Watchers::set_marks(MemoryMarks marks) {
  change([&](Functions& functions) { functions.marks = marks; });
}

uint64_t Watchers::current_stack() const {
  const auto functions = functions_.load();
  return functions && functions->record_stack ? functions->record_stack() : 0;
}

std::vector<std::string> Watchers::describe(const std::vector<uint64_t>& stacks) const {
  std::vector<std::string> result;
  const auto functions = functions_.load();
  if (functions && functions->describe_stack)
    for (uint64_t stack : stacks) result.push_back(functions->describe_stack(stack));
  return result;
}

void Watchers::tell(const MemoryEvent& event) const {
  const auto functions = functions_.load();
  if (functions && functions->memory_event) functions->memory_event(event);
}

void Watchers::tell_out_of_memory(size_t bytes, size_t device_total, size_t device_free) const {
  const auto functions = functions_.load();
  if (functions && functions->out_of_memory) functions->out_of_memory(bytes, device_total, device_free);
}

MemoryMarks Watchers::marks() const {
  const auto functions = functions_.load();
  return functions ? functions->marks : MemoryMarks{};
}

}  // namespace mt::runtime
