#include "sanitizer/shadow.h"

#include <algorithm>

namespace softnpu::sanitizer {
namespace {

// The bits [begin, end) of word `word`.
uint64_t mask(uint64_t word, uint64_t begin, uint64_t end) {
  const uint64_t low = std::max(begin, word * 64) - word * 64,
                 high = std::min(end, word * 64 + 64) - word * 64;
  return (high == 64 ? ~uint64_t(0) : (uint64_t(1) << high) - 1) & ~((uint64_t(1) << low) - 1);
}

}  // namespace

void WrittenBytes::set(uint64_t begin, uint64_t end, bool written) {
  if (begin >= end) return;
  if (bits_.empty()) {
    if (!written) return;
    bits_.resize(bytes_ / 64 + 1);
  }
  for (uint64_t word = begin / 64; word <= (end - 1) / 64; ++word) {
    if (written) bits_[word] |= mask(word, begin, end);
    else bits_[word] &= ~mask(word, begin, end);
  }
}

uint64_t WrittenBytes::count_unwritten(uint64_t begin, uint64_t end, uint64_t* first) const {
  if (begin >= end) return 0;
  if (bits_.empty()) {
    *first = begin;
    return end - begin;
  }
  uint64_t count = 0;
  for (uint64_t word = begin / 64; word <= (end - 1) / 64; ++word) {
    const uint64_t unwritten = ~bits_[word] & mask(word, begin, end);
    if (unwritten == 0) continue;
    if (count == 0) *first = word * 64 + uint64_t(__builtin_ctzll(unwritten));
    count += uint64_t(__builtin_popcountll(unwritten));
  }
  return count;
}

// Makes `at` the begin of a cell if it lies inside one.
void LastUses::split(uintptr_t at) {
  auto after = cells_.lower_bound(at);
  if (after == cells_.begin()) return;
  const auto cell = std::prev(after);
  if (cell->second.end <= at) return;
  Cell rest = cell->second;
  cell->second.end = at;
  cells_.emplace_hint(after, at, std::move(rest));
}

void LastUses::check(Run run, const VectorClock& now, const Conflict& conflict) const {
  auto cell = cells_.upper_bound(run.begin);
  if (cell != cells_.begin() && std::prev(cell)->second.end > run.begin) --cell;
  for (; cell != cells_.end() && cell->first < run.end; ++cell) {
    const Run shared{std::max(cell->first, run.begin), std::min(cell->second.end, run.end)};
    if (cell->second.writer && !cell->second.writer->before(now)) conflict(cell->second.writer, true, shared);
    for (const OperationPointer& reader : cell->second.readers)
      if (!reader->before(now)) conflict(reader, false, shared);
  }
}

void LastUses::touch(Run run, bool write, const OperationPointer& operation, const VectorClock& now,
                     const Conflict& conflict) {
  check(run, now, [&](const OperationPointer& earlier, bool earlier_wrote, Run shared) {
    if (write || earlier_wrote) conflict(earlier, earlier_wrote, shared);
  });
  split(run.begin);
  split(run.end);
  if (write) {
    cells_.erase(cells_.lower_bound(run.begin), cells_.lower_bound(run.end));
    cells_.emplace(run.begin, Cell{run.end, operation, {}});
  } else {
    add_reader(run, operation, now);
  }
}

void LastUses::add_reader(Run run, const OperationPointer& operation, const VectorClock& now) {
  auto cell = cells_.lower_bound(run.begin);
  for (uintptr_t at = run.begin; at < run.end;) {
    if (cell == cells_.end() || cell->first > at) {  // nobody has used these bytes yet
      const uintptr_t end = cell == cells_.end() ? run.end : std::min(cell->first, run.end);
      cell = cells_.emplace_hint(cell, at, Cell{end, nullptr, {}});
    }
    auto& readers = cell->second.readers;
    std::erase_if(readers, [&](const OperationPointer& reader) { return reader->before(now); });
    readers.push_back(operation);
    at = cell->second.end;
    // A tensor read as a whole stays few cells, however it was written.
    if (cell != cells_.begin()) {
      const auto left = std::prev(cell);
      if (left->second.end == cell->first && left->second.same_uses(cell->second)) {
        left->second.end = cell->second.end;
        cells_.erase(cell);
        cell = left;
      }
    }
    ++cell;
  }
}

void LastUses::forget(Run run) {
  split(run.begin);
  split(run.end);
  cells_.erase(cells_.lower_bound(run.begin), cells_.lower_bound(run.end));
}

}  // namespace softnpu::sanitizer
