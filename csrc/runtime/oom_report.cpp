#include "runtime/oom_report.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "runtime/alloc_conf.h"

namespace mt::runtime {
namespace {

// Only what is possible and would let this very request succeed is suggested.
void add_advice(std::ostringstream& out, const OomFacts& f) {
  const bool limited = f.limit != kUnlimited;
  const size_t room = limited ? f.limit : (f.device_known ? f.device.total : kUnlimited);
  if (f.allocated + f.segment > room) {
    out << " The live tensors and this request together need " << format_size(f.allocated + f.segment)
        << ", more than the " << format_size(room) << (limited ? " allowed" : " the device has")
        << ": free tensors or make the batch smaller";
    if (limited && f.device_known && f.device.free >= f.segment)
      out << ", or raise the limit (set_per_process_memory_fraction, set_per_process_memory_limit); the "
             "device itself "
             "has room";
    out << ".";
    return;
  }
  if (limited && f.reserved + f.segment > f.limit && f.device_known && f.device.free >= f.segment)
    out << " The device has room; the limit of this process is what refuses. Raise it with "
           "set_per_process_memory_fraction or set_per_process_memory_limit.";
  if (f.largest_free_other_stream >= f.rounded)
    out << " A large enough block is free on another stream; run the work on one stream or call "
           "empty_cache().";
  // Where segments grow, whole granules of free memory go back to the device and come again where they are needed.
  const size_t within_limit = limited ? f.limit - std::min(f.limit, f.reserved) : kUnlimited;
  if (!f.expandable && f.can_expand && f.device_known && f.stranded_granules > 0 &&
      std::min(f.device.free, within_limit) + f.stranded_granules >= f.rounded) {
    out << " Free memory is enough, but in pieces: " << f.conf_variable
        << "=expandable_segments:True lets segments grow and give back what is free in their middle.";
    return;
  }
  // max_split_size keeps a segment whole; that helps only if a segment large enough for this request was cut
  // up.
  if (f.largest_stranded_segment >= f.rounded && f.rounded > kSmallSize && !f.max_split_is_set)
    out << " A segment of " << format_size(f.largest_stranded_segment) << " was cut up for smaller requests; "
        << f.conf_variable << "=max_split_size_mb:" << std::max<size_t>(21, f.rounded / kMiB)
        << " keeps such segments whole.";
  if (f.device_known && f.device.total - std::min(f.device.total, f.device.free) > f.reserved + f.segment)
    out << " Other processes hold a good part of the device.";
}

}  // namespace

std::string format_size(size_t bytes) {
  const char* unit = "bytes";
  double value = double(bytes);
  for (const char* larger : {"KiB", "MiB", "GiB", "TiB"}) {
    if (value < 1024) break;
    value /= 1024;
    unit = larger;
  }
  char text[48];
  if (bytes < 1024) std::snprintf(text, sizeof text, "%zu bytes", bytes);
  else std::snprintf(text, sizeof text, "%.2f %s", value, unit);
  return text;
}

std::string as_sentence(std::string text) {
  if (!text.empty() && text.back() != '.') text += '.';
  return text;
}

std::string oom_message(const OomFacts& f) {
  std::ostringstream out;
  // Callers look for " out of memory." in this first sentence.
  out << f.device_name << " out of memory. Tried to allocate " << format_size(f.requested) << ".";
  if (f.segment != f.requested)
    out << " (Rounded to a block of " << format_size(f.rounded) << ", for which the device was asked "
        << format_size(f.segment) << ".)";
  out << " " << f.device_name << " " << f.device_index;
  if (f.device_known)
    out << " has a total capacity of " << format_size(f.device.total) << " of which "
        << format_size(f.device.free) << " is free.";
  else out << " did not answer how much memory it has.";
  if (f.limit != kUnlimited) out << " This process may hold " << format_size(f.limit) << ".";
  out << " This process has " << format_size(f.allocated) << " allocated and " << format_size(f.reserved)
      << " reserved; largest free block: " << format_size(f.largest_free_large) << " in the large pool, "
      << format_size(f.largest_free_small) << " in the small pool.";
  if (f.stranded)
    out << " " << format_size(f.stranded) << " is free but stranded in " << f.stranded_segments
        << " segment(s) that hold live blocks.";
  if (f.pins) {
    out << " The one with the most (" << format_size(f.most_stranded_in_a_segment) << " free) is kept by "
        << f.pins << " block(s) of together " << format_size(f.pinned_by);
    if (f.pinned_at.empty()) {
      out << "; _record_memory_history() would show where they were allocated.";
    } else {
      out << ", allocated at";
      for (size_t i = 0; i < f.pinned_at.size(); ++i) out << (i ? "; " : " ") << f.pinned_at[i];
      out << ".";
    }
  }
  if (f.free_in_private_pools)
    out << " " << format_size(f.free_in_private_pools) << " is free in private memory pools.";
  for (const auto& [stream, bytes] : f.pending)
    out << " " << format_size(bytes) << " was freed and waits for stream " << stream << ".";
  if (!f.event_error.empty()) out << " Recording an event failed: " << as_sentence(f.event_error);
  if (!f.driver_error.empty()) out << " The device said: " << as_sentence(f.driver_error);
  add_advice(out, f);
  out << " OOM_SNAPSHOT_ENABLE=1 writes a snapshot of this moment and its page, which 'mindtorch memory "
         "view' "
         "makes too; 'mindtorch memory advise' says which settings would need less.";
  return out.str();
}

}  // namespace mt::runtime
