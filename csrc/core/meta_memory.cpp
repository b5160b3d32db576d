#include "core/meta_memory.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "base/error.h"

namespace mt {
namespace {

constexpr size_t kBlock = 512;
constexpr int kPurposeBits = 3;
static_assert(kMetaPurposes <= 1 << kPurposeBits);

std::mutex g_mutex;
MetaMemory g_memory;
bool g_recording = false;
std::vector<MetaEvent> g_history;
int64_t g_storages = 0;  // so far
int g_purpose = 0;
thread_local bool t_counted = true;
std::atomic<MetaMeaning> g_meaning{MetaMeaning{}};

int64_t block_bytes(const Storage& storage) {
  return int64_t((storage.nbytes + kBlock - 1) / kBlock * kBlock);
}

// A storage on meta has no data, so `context` is free to say which it is, and what for.
int purpose_of(const Storage& storage) {
  return int(reinterpret_cast<intptr_t>(storage.context) & ((1 << kPurposeBits) - 1));
}
int64_t number_of(const Storage& storage) {
  return reinterpret_cast<intptr_t>(storage.context) >> kPurposeBits;
}
void set_context(Storage& storage, int64_t number, int purpose) {
  storage.context = reinterpret_cast<void*>(intptr_t(number << kPurposeBits | purpose));
}

void note(MetaEventKind kind, const Storage& storage) {
  if (!g_recording || storage.nbytes == 0) return;
  g_history.push_back({kind, number_of(storage), int64_t(storage.nbytes), purpose_of(storage)});
}

void add(int purpose, int64_t bytes) {
  g_memory.now[purpose] += bytes;
  g_memory.highest[purpose] = std::max(g_memory.highest[purpose], g_memory.now[purpose]);
  g_memory.total += bytes;
  if (g_memory.total <= g_memory.peak) return;
  g_memory.peak = g_memory.total;
  g_memory.at_peak = g_memory.now;
}

void check(int purpose) {
  MT_CHECK(purpose >= 0 && purpose < kMetaPurposes, "a purpose is a number from 0 to ", kMetaPurposes - 1,
           ", got ", purpose);
}

}  // namespace

bool set_meta_counted(bool counted) { return std::exchange(t_counted, counted); }

void count_meta_storage(Storage& storage) {
  if (!t_counted) return;
  std::lock_guard lock(g_mutex);
  set_context(storage, ++g_storages, g_purpose);
  storage.release = discount_meta_storage;
  add(g_purpose, block_bytes(storage));
  note(MetaEventKind::made, storage);
}

void discount_meta_storage(Storage& storage) {
  std::lock_guard lock(g_mutex);
  add(purpose_of(storage), -block_bytes(storage));
  note(MetaEventKind::freed, storage);
  storage.release = nullptr;
}

MetaMeaning set_meta_meaning(MetaMeaning meaning) { return g_meaning.exchange(meaning); }
MetaMeaning meta_meaning() { return g_meaning.load(std::memory_order_relaxed); }

MetaMemory meta_memory() {
  std::lock_guard lock(g_mutex);
  return g_memory;
}

void record_meta_history(bool on) {
  std::lock_guard lock(g_mutex);
  g_recording = on;
  g_history.clear();
}

std::vector<MetaEvent> meta_history() {
  std::lock_guard lock(g_mutex);
  return g_history;
}

void reset_meta_peak() {
  std::lock_guard lock(g_mutex);
  g_memory.peak = g_memory.total;
  g_memory.highest = g_memory.at_peak = g_memory.now;
}

int set_meta_purpose(int purpose) {
  check(purpose);
  std::lock_guard lock(g_mutex);
  return std::exchange(g_purpose, purpose);
}

void assign_meta_purpose(Storage& storage, int purpose) {
  check(purpose);
  MT_CHECK(storage.device.is_meta(), "only tensors on meta have a purpose, got one on ",
           to_string(storage.device));
  std::lock_guard lock(g_mutex);
  if (!storage.release) return;  // nothing in it is counted
  add(purpose_of(storage), -block_bytes(storage));
  set_context(storage, number_of(storage), purpose);
  add(purpose, block_bytes(storage));
  note(MetaEventKind::assigned, storage);
}

}  // namespace mt
