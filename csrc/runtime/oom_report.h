// The text of an OutOfMemoryError: what was asked, what there is, why it does not fit, and what would help.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "runtime/upstream.h"

namespace mt::runtime {

struct OomFacts {
  std::string device_name;  // as in "<name> out of memory"
  int device_index = 0;
  std::string conf_variable;  // the environment variable that advice names
  size_t requested = 0;       // by the caller
  size_t rounded = 0;         // the block it needs
  size_t segment = 0;         // what the device was asked for
  bool device_known = false;  // `device` could be read
  MemoryInfo device;
  size_t limit = 0;  // of this process; SIZE_MAX when there is none
  size_t allocated = 0;
  size_t reserved = 0;
  size_t largest_free_small = 0;
  size_t largest_free_large = 0;
  size_t largest_free_other_stream = 0;  // in the request's pool, cached for another stream
  size_t stranded = 0;                   // free bytes in segments that live blocks keep
  size_t stranded_granules = 0;          // what of it could go back alone if segments grew
  size_t stranded_segments = 0;
  size_t largest_stranded_segment = 0;  // its whole size
  size_t most_stranded_in_a_segment = 0;
  size_t pins = 0;                     // the live blocks of that segment,
  size_t pinned_by = 0;                // their bytes,
  std::vector<std::string> pinned_at;  // and where they were allocated, if stacks are recorded
  size_t free_in_private_pools = 0;
  std::map<StreamHandle, size_t> pending;  // bytes given back that wait for a stream
  bool max_split_is_set = false;
  bool expandable = false;  // segments grow
  bool can_expand = false;  // they could
  std::string driver_error;
  std::string event_error;  // why blocks wait for a synchronisation, if recording an event failed
};

std::string oom_message(const OomFacts& facts);
std::string format_size(size_t bytes);      // "20.00 MiB"
std::string as_sentence(std::string text);  // with a full stop, if it has none

}  // namespace mt::runtime
