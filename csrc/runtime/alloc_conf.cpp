#include "runtime/alloc_conf.h"

#include <bit>
#include <charconv>
#include <functional>

#include "base/error.h"

namespace mt::runtime {
namespace {

constexpr size_t round_up(size_t size, size_t multiple) {
  return (size + multiple - 1) / multiple * multiple;
}

int floor_log2(size_t value) { return std::bit_width(value) - 1; }

// One key with its value and where it was written, for error messages.
struct Item {
  std::string_view key, value, source;

  [[noreturn]] void bad(std::string_view wanted) const {
    fail(ErrorKind::value, source, ": ", key, " must be ", wanted, ", but it is '", value, "'.");
  }
  int64_t integer(int64_t least, int64_t most, std::string_view wanted) const {
    return integer_of(value, least, most, wanted);
  }
  int64_t integer_of(std::string_view text, int64_t least, int64_t most, std::string_view wanted) const {
    int64_t result = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
    if (error != std::errc() || end != text.data() + text.size() || result < least || result > most)
      bad(wanted);
    return result;
  }
  double number(std::string_view wanted) const {
    double result = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
    if (error != std::errc() || end != value.data() + value.size()) bad(wanted);
    return result;
  }
  bool boolean() const {
    if (value != "True" && value != "False") bad("True or False");
    return value == "True";
  }
  // Mebibytes to bytes; huge numbers mean "no limit".
  int64_t mebibytes(int64_t least, std::string_view wanted) const {
    return integer(least, std::numeric_limits<int64_t>::max() >> 20, wanted);
  }
};

int64_t divisions_of(const Item& item, std::string_view text) {
  constexpr const char* wanted = "0 or a power of two up to 4096, alone or as a list [256:1,512:2,>:4]";
  const int64_t value = item.integer_of(text, 0, 4096, wanted);
  if (value != 0 && !std::has_single_bit(uint64_t(value))) item.bad(wanted);
  return value;
}

// "[256:1,512:2,>:4]": sizes from 256 MiB up to the next listed power of two use 1, …, all larger ones 4;
// sizes below the first use the first value.
ConfValue parse_divisions(const Item& item, AllocatorSettings& settings) {
  auto& divisions = settings.roundup_divisions;
  if (item.value.empty() || item.value.front() != '[') {
    const int64_t value = divisions_of(item, item.value);
    divisions.fill(uint32_t(value));
    return value;
  }
  constexpr const char* wanted =
      "a list such as [256:1,512:2,>:4] whose sizes are rising powers of two in MiB";
  if (item.value.back() != ']') item.bad(wanted);
  std::string_view rest = item.value.substr(1, item.value.size() - 2);
  std::map<std::string, int64_t> given;
  divisions.fill(0);
  int last = -1;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
    const size_t colon = entry.find(':');
    if (colon == std::string_view::npos) item.bad(wanted);
    const std::string_view size_text = entry.substr(0, colon);
    const int64_t value = divisions_of(item, entry.substr(colon + 1));
    given[std::string(size_text)] = value;
    if (size_text == ">") {
      if (!rest.empty()) item.bad(wanted);
      std::fill(divisions.begin() + (last + 1), divisions.end(), uint32_t(value));
      break;
    }
    const int64_t size = item.integer_of(size_text, 1, int64_t(1) << (kRoundupIntervals - 1), wanted);
    const int index = floor_log2(size_t(size));
    if (!std::has_single_bit(uint64_t(size)) || index <= last) item.bad(wanted);
    if (last < 0) std::fill(divisions.begin(), divisions.begin() + index, uint32_t(value));
    divisions[index] = uint32_t(value);
    last = index;
  }
  if (given.empty()) item.bad(wanted);
  return given;
}

using Apply = std::function<ConfValue(const Item&, AllocConf&)>;

ConfValue parse_reject(const Item& item, AllocConf& conf) {
  return conf.allocator.reject_above_limit = item.boolean();
}

// The lock is always released during a device allocation; the key is known so that scripts can keep it.
ConfValue parse_release_lock(const Item& item, AllocConf&) { return item.boolean(); }

ConfValue set_segment_size(AllocConf& conf, int64_t mb) {
  conf.allocator.large_segment_size = round_up(size_t(mb) * kMiB, kLargeRounding);
  return mb;
}

// Two keys have the name of a device's malloc in them, and settings written for another device hold as well.
constexpr std::string_view kRejectKey = "throw_on_<device>malloc_oom";
constexpr std::string_view kReleaseLockKey = "release_lock_on_<device>malloc";

std::string_view without_device(std::string_view key) {
  if (key.starts_with("throw_on_") && key.ends_with("malloc_oom")) return kRejectKey;
  if (key.starts_with("release_lock_on_") && key.ends_with("malloc")) return kReleaseLockKey;
  return key;
}

const std::map<std::string_view, Apply>& known_keys() {
  static const std::map<std::string_view, Apply> keys = {
      {"max_split_size_mb",
       [](const Item& item, AllocConf& conf) -> ConfValue {
         const int64_t mb = item.mebibytes(1, "a whole number of MiB, at least 1");
         conf.allocator.max_split_size = size_t(mb) * kMiB;
         return mb;
       }},
      {"max_non_split_rounding_mb",
       [](const Item& item, AllocConf& conf) -> ConfValue {
         const int64_t mb = item.mebibytes(0, "a whole number of MiB");
         conf.allocator.max_non_split_rounding = size_t(mb) * kMiB;
         return mb;
       }},
      {"large_segment_size_mb",
       [](const Item& item, AllocConf& conf) -> ConfValue {
         return set_segment_size(conf, item.mebibytes(11, "a whole number of MiB above 10"));
       }},
      {"segment_size_mb",
       [](const Item& item, AllocConf& conf) -> ConfValue {
         return set_segment_size(conf, item.integer(20, 512, "a whole number of MiB from 20 to 512"));
       }},
      {"garbage_collection_threshold",
       [](const Item& item, AllocConf& conf) -> ConfValue {
         constexpr const char* wanted = "a number above 0 and below 1";
         const double threshold = item.number(wanted);
         if (!(threshold > 0 && threshold < 1)) item.bad(wanted);
         conf.allocator.garbage_collection_threshold = threshold;
         return threshold;
       }},
      {"per_process_memory_fraction",
       [](const Item& item, AllocConf& conf) -> ConfValue {
         constexpr const char* wanted = "a number from 0 to 1";
         const double fraction = item.number(wanted);
         if (!(fraction >= 0 && fraction <= 1)) item.bad(wanted);
         conf.allocator.memory_fraction = fraction;
         return fraction;
       }},
      {"roundup_power2_divisions",
       [](const Item& item, AllocConf& conf) { return parse_divisions(item, conf.allocator); }},
      {kRejectKey, parse_reject},
      {kReleaseLockKey, parse_release_lock},
      {"expandable_segments",
       [](const Item& item, AllocConf& conf) -> ConfValue {
         return conf.allocator.expandable_segments = item.boolean();
       }},
      {"multi_stream_lazy_reclaim",
       [](const Item& item, AllocConf& conf) -> ConfValue {
         return conf.allocator.lazy_reclaim = item.boolean();
       }},
      {"backend",
       [](const Item& item, AllocConf&) -> ConfValue {
         if (item.value != "native") item.bad("native, the only allocator there is");
         return std::string(item.value);
       }},
      {"pinned_max_round_threshold_mb",
       [](const Item& item, AllocConf& conf) -> ConfValue {
         const int64_t mb = item.mebibytes(0, "a whole number of MiB");
         conf.pinned.max_rounded_size = size_t(mb) * kMiB;
         return mb;
       }},
      {"pinned_max_cached_size_mb",
       [](const Item& item, AllocConf& conf) -> ConfValue {
         const int64_t mb = item.mebibytes(0, "a whole number of MiB");
         conf.pinned.max_cached_size = size_t(mb) * kMiB;
         return mb;
       }},
  };
  return keys;
}

std::string without_spaces(std::string_view text) {
  std::string result;
  for (char c : text)
    if (c != ' ' && c != '\t' && c != '\n' && c != '\r') result.push_back(c);
  return result;
}

}  // namespace

size_t AllocatorSettings::block_size(size_t requested) const {
  if (requested < kMinBlockSize) return kMinBlockSize;
  const int interval = std::clamp(floor_log2(requested) - 20, 0, int(kRoundupIntervals) - 1);
  const uint32_t divisions = roundup_divisions[interval];
  if (divisions > 1 && requested > kMinBlockSize * divisions) {
    const size_t step = std::bit_floor(requested) / divisions;
    return round_up(requested, step);
  }
  return round_up(requested, kMinBlockSize);
}

size_t AllocatorSettings::segment_size(size_t block_size) const {
  if (block_size <= kSmallSize) return kSmallSegment;
  const size_t alone = round_up(block_size, kLargeRounding);
  if (block_size >= kMinLargeRequest || block_size >= max_split_size) return alone;
  // A segment that reaches max_split_size would never serve a smaller request again.
  size_t shared = large_segment_size;
  if (shared >= max_split_size) shared = (max_split_size - 1) / kLargeRounding * kLargeRounding;
  return std::max(shared, alone);
}

AllocConf parse_alloc_conf(std::string_view text, std::string_view source) {
  AllocConf conf;
  const std::string compact = without_spaces(text);
  std::string_view rest = compact;
  while (!rest.empty()) {
    // An item ends at the next comma outside brackets.
    size_t end = 0;
    for (int depth = 0; end < rest.size() && (depth > 0 || rest[end] != ','); ++end)
      depth += (rest[end] == '[') - (rest[end] == ']');
    const std::string_view item = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), end + 1));
    const size_t colon = item.find(':');
    MT_CHECK_AS(value, colon != std::string_view::npos && colon > 0 && colon + 1 < item.size(), source,
                ": expected 'key:value,key:value', but '", item, "' in '", text,
                "' is not a key with a value.");
    const std::string_view key = item.substr(0, colon);
    const auto known = known_keys().find(without_device(key));
    if (known == known_keys().end()) {
      conf.unknown.emplace_back(key);
    } else {
      conf.values[std::string(key)] = known->second({key, item.substr(colon + 1), source}, conf);
    }
  }
  return conf;
}

std::vector<std::string> alloc_conf_keys() {
  std::vector<std::string> keys;
  for (const auto& [key, apply] : known_keys()) keys.emplace_back(key);
  return keys;
}

}  // namespace mt::runtime
