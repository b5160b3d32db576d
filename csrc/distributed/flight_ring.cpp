#include "distributed/flight_ring.h"

#include <algorithm>
#include <chrono>

namespace mt::distributed {
namespace {

int64_t now_ns() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
}

// Into the places of an entry that was there before, whose memory is used again.
void describe(TensorList tensors, std::vector<FlightTensor>& out) {
  out.resize(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto sizes = tensors[i].sizes();
    out[i].sizes.assign(sizes.begin(), sizes.end());
    out[i].dtype = tensors[i].dtype();
  }
}

}  // namespace

int64_t FlightRing::add(std::string_view engine, std::string_view name, TensorList inputs, TensorList outputs,
                        bool is_message, uint32_t stack) {
  const std::lock_guard guard(mutex_);
  ++last_;
  ++(is_message ? messages_ : collectives_);
  if (!is_message) position_.created = collectives_, position_.name = name;
  if (capacity_ == 0) return last_;
  const size_t place = size_t(last_ - 1) % capacity_;
  if (place >= entries_.size())
    entries_.resize(std::min(capacity_, std::max<size_t>(16, 2 * entries_.size())));
  FlightEntry& entry = entries_[place];
  entry.number = last_;
  entry.collectives = collectives_;
  entry.messages = messages_;
  entry.is_message = is_message;
  entry.failed = false;
  entry.engine = engine;
  entry.name = name;
  describe(inputs, entry.inputs);
  describe(outputs, entry.outputs);
  entry.created_ns = now_ns();
  entry.started_ns = entry.ended_ns = 0;
  entry.stack = stack;
  return last_;
}

FlightEntry* FlightRing::find(int64_t number) {
  if (entries_.empty()) return nullptr;
  const size_t place = size_t(number - 1) % capacity_;
  return place < entries_.size() && entries_[place].number == number ? &entries_[place] : nullptr;
}

void FlightRing::start(int64_t number) {
  const std::lock_guard guard(mutex_);
  FlightEntry* entry = find(number);
  if (!entry) return;
  entry->started_ns = now_ns();
  if (!entry->is_message) position_.started = std::max(position_.started, entry->collectives);
}

void FlightRing::end(int64_t number, bool failed) {
  const std::lock_guard guard(mutex_);
  FlightEntry* entry = find(number);
  if (!entry) return;
  entry->failed = failed;
  if (failed) return;  // it never was done
  entry->ended_ns = now_ns();
  if (!entry->is_message) position_.ended = std::max(position_.ended, entry->collectives);
}

std::vector<FlightEntry> FlightRing::entries() const {
  const std::lock_guard guard(mutex_);
  std::vector<FlightEntry> result;
  const int64_t oldest = std::max<int64_t>(first_, last_ - int64_t(capacity_) + 1);
  for (int64_t number = oldest; number <= last_; ++number)
    result.push_back(entries_[size_t(number - 1) % capacity_]);
  return result;
}

FlightPosition FlightRing::position() const {
  const std::lock_guard guard(mutex_);
  return position_;
}

void FlightRing::clear() {
  const std::lock_guard guard(mutex_);
  first_ = last_ + 1;
}

}  // namespace mt::distributed
