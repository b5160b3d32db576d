// What tensors without values would take up if they had some.
//
// Note [Memory on meta]
// A program that runs on `meta` allocates and frees as it would on a device, so counting its storages says what memory
// it would need, without any. Each storage counts, in blocks of 512 bytes as a device's allocator hands them out, for the
// purpose that was set when it was made (or was given to it since): the numbers of purposes are the planner's business. When
// the sum is higher than ever, the shares of the purposes at that moment are kept. Purposes are set for all threads at once.
// Storages on meta that stand for nothing (patterns of shapes, tensors that only wrap others) are made uncounted.
// The order of what is made and freed can be kept, for an allocator to repeat (memory_tools/_replay.py).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/storage.h"

namespace mt {

constexpr int kMetaPurposes = 8;
using MetaShares = std::array<int64_t, kMetaPurposes>;

struct MetaMemory {
  MetaShares now{};
  MetaShares highest{};  // of each purpose, whenever that was
  MetaShares at_peak{};  // when the sum was highest
  int64_t total = 0;
  int64_t peak = 0;
};

enum class MetaEventKind : int64_t { made, freed, assigned };
struct MetaEvent {
  MetaEventKind kind;
  int64_t storage;  // a number that no other has
  int64_t bytes;
  int64_t purpose;
};

// Counts a storage on `meta` that was just made or got another size.
void count_meta_storage(Storage& storage);
// Takes it out of the count.
void discount_meta_storage(Storage& storage);

// Whether this thread's storages count; returns whether they did.
bool set_meta_counted(bool counted);
// While it lives, they do not.
class UncountedMeta {
 public:
  UncountedMeta() : before_(set_meta_counted(false)) {}
  ~UncountedMeta() { set_meta_counted(before_); }
  UncountedMeta(const UncountedMeta&) = delete;
  UncountedMeta& operator=(const UncountedMeta&) = delete;

 private:
  bool before_;
};

// The kind of device that a program on meta is meant for: what it does for that one's sake (casts of autocast), it does.
// `meta`: none. `parts`: operators that this device makes of others are made of them on meta too, so that what lives only
// within them counts (core/parts_on_meta.h).
struct MetaMeaning {
  DeviceType type = DeviceType::meta;
  bool parts = false;
};
// For all threads at once; returns what it was.
MetaMeaning set_meta_meaning(MetaMeaning meaning);
MetaMeaning meta_meaning();
inline DeviceType meant_type(Device device) { return device.is_meta() ? meta_meaning().type : device.type; }

MetaMemory meta_memory();
// What happens from now on is kept, or what was kept is forgotten.
void record_meta_history(bool on);
std::vector<MetaEvent> meta_history();
void reset_meta_peak();
// What storages are made for from now on; returns what they were made for.
int set_meta_purpose(int purpose);
// What this one is for, as has turned out.
void assign_meta_purpose(Storage& storage, int purpose);

}  // namespace mt
